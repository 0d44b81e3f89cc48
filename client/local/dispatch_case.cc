#include "client/local/dispatch_case.h"

#include "opyard/base/check.h"

namespace opyard::client {
namespace {

const std::set<std::string> kCaseKeys = {
    "name",  "source", "op",    "def",    "register",    "fallbacks",   "defaults", "order",
    "table", "reason", "calls", "remove", "table_after", "calls_after", "error",    "code"};
const std::set<std::string> kCallKeys = {"tensors", "include", "exclude", "unexclude", "via",
                                         "keys",    "trail",   "error",   "code"};
const std::set<std::string> kKernelKeys = {"key", "kernel", "then"};

CaseKernel read_kernel(const std::string& key, const YAML::Node& value, Report& report) {
  CaseKernel kernel{key, "", false};
  if (value.IsScalar()) {
    kernel.label = value.as<std::string>();
    return kernel;
  }
  report.note_unknown(value, kKernelKeys);
  kernel.label = value["kernel"].as<std::string>();
  if (const YAML::Node then = value["then"]) {
    if (then.as<std::string>() != "redispatch") {
      fail_case(str_cat("'then: ", then.as<std::string>(), "'; wanted redispatch"));
    }
    kernel.redispatch = true;
  }
  return kernel;
}

// A list of {key, kernel, then}, or a mapping from keys.
std::vector<CaseKernel> read_kernels(const YAML::Node& node, Report& report) {
  std::vector<CaseKernel> kernels;
  if (!node || node.IsNull()) return kernels;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) {
      kernels.push_back(read_kernel(item["key"].as<std::string>(), item, report));
    }
  } else if (node.IsMap()) {
    for (const auto& entry : node) {
      kernels.push_back(read_kernel(entry.first.as<std::string>(), entry.second, report));
    }
  } else {
    fail_case("kernels are written as a list or a mapping");
  }
  return kernels;
}

KeySet read_keys(const YAML::Node& node) {
  KeySet keys;
  if (!node) return keys;
  if (!node.IsSequence()) fail_case("a set of keys is written as a list");
  for (const YAML::Node& key : node) {
    keys = keys | KeySet(parse_dispatch_key(key.as<std::string>()));
  }
  return keys;
}

CaseTensor read_tensor(const YAML::Node& node, int depth = 0) {
  CaseTensor tensor;
  if (node.IsNull()) {
    tensor.absent = true;
    return tensor;
  }
  if (!node.IsSequence() || depth > 1) fail_case("a tensor is written as a list of keys");
  for (const YAML::Node& item : node) tensor.is_list = tensor.is_list || !item.IsScalar();
  if (!tensor.is_list) {
    tensor.keys = read_keys(node);
    return tensor;
  }
  for (const YAML::Node& item : node) tensor.list.push_back(read_tensor(item, depth + 1));
  return tensor;
}

Via read_via(const YAML::Node& node) {
  if (!node) return Via::kBoth;
  const std::string text = node.as<std::string>();
  if (text == "unboxed") return Via::kUnboxed;
  if (text == "boxed") return Via::kBoxed;
  if (text == "redispatch") return Via::kRedispatch;
  fail_case(str_cat("'via: ", text, "'; wanted unboxed, boxed or redispatch"));
}

std::vector<CaseCall> read_calls(const YAML::Node& node, Report& report) {
  std::vector<CaseCall> calls;
  if (!node) return calls;
  for (const YAML::Node& item : node) {
    report.note_unknown(item, kCallKeys);
    CaseCall& call = calls.emplace_back();
    if (const YAML::Node tensors = item["tensors"]) {
      for (const YAML::Node& tensor : tensors) call.tensors.push_back(read_tensor(tensor));
    }
    call.include = read_keys(item["include"]);
    call.exclude = read_keys(item["exclude"]);
    call.unexclude = read_keys(item["unexclude"]);
    call.via = read_via(item["via"]);
    call.keys = read_keys(item["keys"]);
    call.error = wanted_error(item);
    if (const YAML::Node trail = item["trail"]) {
      call.trail = trail.as<std::vector<std::string>>();
    } else if (!call.error) {
      fail_case("a call has neither trail nor error");
    }
    YAML::Emitter text;
    text << YAML::Flow << item["tensors"];
    call.text = str_cat("call ", calls.size() - 1, " ", text.c_str());
  }
  return calls;
}

std::vector<CaseRow> read_rows(const YAML::Node& node) {
  std::vector<CaseRow> rows;
  if (!node) return rows;
  for (const auto& entry : node) {
    rows.push_back({entry.first.as<std::string>(), entry.second.as<std::string>()});
  }
  return rows;
}

}  // namespace

DispatchCase read_dispatch_case(const YAML::Node& node, Report& report) {
  report.note_unknown(node, kCaseKeys);
  DispatchCase out;
  out.op = node["op"].as<std::string>();
  out.define = node["def"].as<bool>(true);
  out.defaults = node["defaults"].as<bool>(true);
  const std::string order = node["order"].as<std::string>("permute");
  if (order != "permute" && order != "as_written") {
    fail_case(str_cat("'order: ", order, "'; wanted permute or as_written"));
  }
  out.permute = order == "permute";
  out.kernels = read_kernels(node["register"], report);
  out.fallbacks = read_kernels(node["fallbacks"], report);
  out.table = read_rows(node["table"]);
  out.reason = read_rows(node["reason"]);
  out.table_after = read_rows(node["table_after"]);
  out.calls = read_calls(node["calls"], report);
  out.calls_after = read_calls(node["calls_after"], report);
  if (node["remove"]) out.remove = node["remove"].as<std::vector<size_t>>();
  for (const size_t index : out.remove) {
    if (index >= out.kernels.size()) fail_case(str_cat("'remove' names no registration: ", index));
  }
  out.error = wanted_error(node);
  return out;
}

}  // namespace opyard::client
