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
  if (!value.IsMap() || !value["kernel"]) {
    fail_case(str_cat("at ", key, ": a kernel is a label, or {kernel: LABEL, then: redispatch}"));
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

template <typename T>
T read_scalar(const YAML::Node& mapping, const char* key, T otherwise) {
  const YAML::Node node = mapping[key];
  try {
    return node ? node.as<T>() : otherwise;
  } catch (const YAML::Exception&) {
    fail_case(str_cat("what stands at '", key, "' cannot be read"));
  }
}

// A list of {key, kernel, then}, or a mapping from keys.
std::vector<CaseKernel> read_kernels(const YAML::Node& node, Report& report) {
  std::vector<CaseKernel> kernels;
  if (!node || node.IsNull()) return kernels;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) {
      if (!item.IsMap() || !item["key"]) {
        fail_case("a kernel in a list is written {key: KEY, kernel: LABEL}");
      }
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

std::vector<DispatchKey> read_key_list(const YAML::Node& node) {
  std::vector<DispatchKey> keys;
  if (!node || node.IsNull()) return keys;
  if (!node.IsSequence()) fail_case("a set of keys is written as a list");
  for (const YAML::Node& key : node) keys.push_back(parse_dispatch_key(key.as<std::string>()));
  return keys;
}

// Alias keys have no bits, so they bring nothing.
KeySet read_keys(const YAML::Node& node, Report& report) {
  KeySet keys;
  for (const DispatchKey key : read_key_list(node)) {
    if (is_alias_key(key)) {
      report.note(str_cat("the alias key ", to_string(key), " brings nothing to a key set"));
    }
    keys = keys.add(key);
  }
  return keys;
}

// What is taken away may be named by an alias as well.
KeySet read_excluded(const YAML::Node& node) {
  KeySet keys;
  for (const DispatchKey key : read_key_list(node)) {
    keys = keys.add(key);
    for (const DispatchKey member : expand_alias(key)) keys = keys.add(member);
  }
  return keys;
}

CaseTensor read_tensor(const YAML::Node& node, Report& report, int depth = 0) {
  CaseTensor tensor;
  if (node.IsNull()) {
    tensor.absent = true;
    return tensor;
  }
  if (!node.IsSequence() || depth > 1) fail_case("a tensor is written as a list of keys");
  for (const YAML::Node& item : node) tensor.is_list = tensor.is_list || !item.IsScalar();
  if (!tensor.is_list) {
    tensor.keys = read_keys(node, report);
    return tensor;
  }
  for (const YAML::Node& item : node) tensor.list.push_back(read_tensor(item, report, depth + 1));
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
  if (!node || node.IsNull()) return calls;
  if (!node.IsSequence()) fail_case("calls are written as a list");
  for (const YAML::Node& item : node) {
    if (!item.IsMap()) fail_case("a call is written as a mapping with tensors, trail, …");
    report.note_unknown(item, kCallKeys);
    CaseCall& call = calls.emplace_back();
    if (const YAML::Node tensors = item["tensors"]) {
      if (!tensors.IsSequence()) fail_case("tensors are written as a list");
      for (const YAML::Node& tensor : tensors) call.tensors.push_back(read_tensor(tensor, report));
    }
    call.include = read_keys(item["include"], report);
    call.exclude = read_excluded(item["exclude"]);
    call.unexclude = read_excluded(item["unexclude"]);
    call.via = read_via(item["via"]);
    call.keys = read_keys(item["keys"], report);
    call.error = wanted_error(item);
    if (const YAML::Node trail = item["trail"]) {
      call.trail = trail.as<std::vector<std::string>>();
    } else if (!call.error) {
      fail_case("a call has neither trail nor error");
    }
    call.text = str_cat("call ", calls.size() - 1);
    if (const YAML::Node tensors = item["tensors"]) {
      YAML::Emitter text;
      text << YAML::Flow << tensors;
      call.text += str_cat(" ", text.c_str());
    }
  }
  return calls;
}

std::vector<CaseRow> read_rows(const YAML::Node& node) {
  std::vector<CaseRow> rows;
  if (!node || node.IsNull()) return rows;
  if (!node.IsMap()) fail_case("a table is written as a mapping from keys");
  for (const auto& entry : node) {
    rows.push_back({entry.first.as<std::string>(), entry.second.as<std::string>()});
  }
  return rows;
}

}  // namespace

DispatchCase read_dispatch_case(const YAML::Node& node, Report& report) {
  report.note_unknown(node, kCaseKeys);
  DispatchCase out;
  if (!node["op"] || !node["op"].IsScalar()) fail_case("'op' is a schema, or a name");
  out.op = node["op"].Scalar();
  out.define = read_scalar(node, "def", true);
  out.defaults = read_scalar(node, "defaults", true);
  const auto order = read_scalar(node, "order", std::string("permute"));
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
