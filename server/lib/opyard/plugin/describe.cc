#include "opyard/plugin/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "opyard/base/check.h"
#include "opyard/dispatch/registry.h"
#include "opyard/dispatch/schema.h"

namespace opyard::plugin {
namespace {

using Kind = Difference::Kind;

std::string name_in(const opyard_block& block, const std::string& written) {
  if (written.find("::") != std::string::npos) return written;
  return to_std(block.name_space) + "::" + written;
}

void describe_definition(const opyard_block& block, const opyard_registration& record,
                         Description* description) {
  const std::string text = to_std(record.text);
  if (record.flags & OPYARD_SCHEMA_INFERRED) {
    description->schemas[name_in(block, text)] = to_std(record.schema);
    return;
  }
  try {
    const FunctionSchema schema = parse_schema(text);
    const std::string printed = to_string(schema);
    description->schemas[name_in(block, schema.full_name())] =
        printed.substr(std::min(printed.find('('), printed.size()));
  } catch (const Error&) {
    description->schemas[name_in(block, text)];
  }
}

std::string why_boxed(const opyard_registration& record, bool same_build) {
  if (record.flags & (OPYARD_FALLTHROUGH | OPYARD_PASS_DOWN)) return "it has no function";
  if (!(record.flags & OPYARD_CXX_KERNEL)) return "it is a kernel of the C interface";
  if (!record.typed) return "it takes any signature";
  return same_build ? "" : "another build made it";
}

bool lost(Kind kind) { return kind == Kind::kOperatorLost || kind == Kind::kKernelLost; }

std::string form(const Description::Kernel& kernel) { return kernel.typed ? "typed" : "boxed"; }

void compare_kernels(const Description& before, const Description& after,
                     std::vector<Difference>* out) {
  for (const auto& [what, kernel] : before.kernels) {
    const auto now = after.kernels.find(what);
    if (now == after.kernels.end()) {
      out->push_back({Kind::kKernelLost, what, form(kernel), "", "allow_loss"});
    } else if (kernel.typed && !now->second.typed) {
      out->push_back({Kind::kNowBoxed, what, "typed", str_cat("boxed: ", now->second.why_boxed),
                      "allow_downgrade"});
    } else if (!kernel.typed && now->second.typed) {
      out->push_back({Kind::kNowTyped, what, "boxed", "typed", ""});
    }
  }
  for (const auto& [what, kernel] : after.kernels) {
    if (!before.kernels.contains(what)) {
      out->push_back({Kind::kKernelAdded, what, "", form(kernel), ""});
    }
  }
}

void compare_schemas(const Description& before, const Description& after,
                     std::vector<Difference>* out) {
  for (const auto& [op, schema] : before.schemas) {
    const auto now = after.schemas.find(op);
    if (now == after.schemas.end()) {
      out->push_back({Kind::kOperatorLost, op, schema, "", "allow_loss"});
    } else if (now->second != schema) {
      out->push_back({Kind::kSchemaChanged, op, schema, now->second, "allow_schema_change"});
    }
  }
  for (const auto& [op, schema] : after.schemas) {
    if (!before.schemas.contains(op)) {
      out->push_back({Kind::kOperatorAdded, op, "", schema, ""});
    }
  }
}

void compare_flag(const std::string& what, const std::string& before, const std::string& after,
                  std::vector<Difference>* out) {
  if (before != after) out->push_back({Kind::kFlags, what, before, after, ""});
}

}  // namespace

Description describe_note(const NoteFacts& note) {
  const auto joined = [](const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
    return out;
  };
  Description description;
  description.name = note.name;
  description.version = note.version;
  description.fingerprint = note.fingerprint;
  description.flags["isa"] =
      note.isa.level > 1 ? str_cat("x86-64-v", note.isa.level) : std::string("any");
  description.flags["claims"] = joined(note.claims);
  description.flags["needs"] = joined(note.needs);
  description.flags["interface"] = str_cat(note.abi_min >> 16, ".", note.abi_min & 0xffff, " to ",
                                           note.abi_max >> 16, ".", note.abi_max & 0xffff);
  description.flags["unload class"] = std::to_string(note.unload_class);
  return description;
}

void describe_blocks(ArrayRef<opyard_block> blocks, bool same_build, Description* description) {
  for (const opyard_block& block : blocks) {
    for (uint64_t i = 0; i < block.count; ++i) {
      const opyard_registration& record = block.registrations[i];
      if (record.kind == OPYARD_REGISTER_DEF) {
        describe_definition(block, record, description);
        continue;
      }
      const bool fallback = record.kind == OPYARD_REGISTER_FALLBACK;
      const std::string op = fallback ? "_" : name_in(block, to_std(record.text));
      std::string key = to_std(record.key.size ? record.key : block.key);
      if (key.empty()) key = "CompositeImplicitAutograd";
      const std::string reason = why_boxed(record, same_build);
      description->kernels[str_cat(op, " at ", key)] = {
          reason.empty(), (record.flags & OPYARD_FALLTHROUGH) != 0, reason};
    }
  }
}

std::vector<Difference> compare(const Description& before, const Description& after) {
  std::vector<Difference> out;
  compare_schemas(before, after, &out);
  compare_kernels(before, after, &out);
  compare_flag("version", before.version, after.version, &out);
  compare_flag("fingerprint", before.fingerprint, after.fingerprint, &out);
  std::map<std::string, std::pair<std::string, std::string>> flags;
  for (const auto& [name, value] : before.flags) flags[name].first = value;
  for (const auto& [name, value] : after.flags) flags[name].second = value;
  for (const auto& [name, values] : flags) {
    compare_flag(name, values.first, values.second, &out);
  }
  return out;
}

void check_allowed(std::string_view slot, const std::vector<Difference>& differences,
                   const ChangeOptions& options) {
  const auto allowed = [&](const Difference& difference) {
    if (difference.needs == "allow_loss") return options.allow_loss;
    if (difference.needs == "allow_schema_change") return options.allow_schema_change;
    if (difference.needs == "allow_downgrade") return options.allow_downgrade;
    return true;
  };
  constexpr int kShown = 5;
  std::string text;
  std::vector<std::string> wanted;
  int refused = 0;
  for (const Difference& one : differences) {
    if (allowed(one)) continue;
    if (std::find(wanted.begin(), wanted.end(), one.needs) == wanted.end()) {
      wanted.push_back(one.needs);
    }
    if (++refused > kShown) continue;
    text += str_cat(refused == 1 ? "" : "; ", one.what, ": ", to_string(one.kind));
    if (one.kind == Kind::kSchemaChanged) text += str_cat(" from ", one.before, " to ", one.after);
  }
  if (refused == 0) return;
  if (refused > kShown) text += str_cat("; and ", refused - kShown, " more");
  std::string options_text;
  for (const std::string& name : wanted) {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    options_text += str_cat(options_text.empty() ? "" : " and ", name, " (", flag, ")");
  }
  raise(Code::kFailedPrecondition, str_cat("the new plugin of '", slot, "' takes something away: ",
                                           text, ". Allow it with ", options_text));
}

std::vector<std::string> losses(const std::vector<Difference>& differences) {
  std::vector<std::string> names;
  for (const Difference& one : differences) {
    if (lost(one.kind)) names.push_back(one.what);
  }
  return names;
}

std::string_view to_string(Difference::Kind kind) noexcept {
  switch (kind) {
    case Kind::kOperatorAdded:
      return "operator added";
    case Kind::kOperatorLost:
      return "operator lost";
    case Kind::kSchemaChanged:
      return "schema changed";
    case Kind::kKernelAdded:
      return "kernel added";
    case Kind::kKernelLost:
      return "kernel lost";
    case Kind::kNowTyped:
      return "now typed";
    case Kind::kNowBoxed:
      return "now boxed";
    case Kind::kFlags:
      return "changed";
  }
  return "changed";
}

std::string to_json(const Description& description) {
  nlohmann::json kernels = nlohmann::json::object();
  for (const auto& [what, kernel] : description.kernels) {
    kernels[what] = {{"typed", kernel.typed},
                     {"fallthrough", kernel.fallthrough},
                     {"why_boxed", kernel.why_boxed}};
  }
  const nlohmann::json json = {{"name", description.name},
                               {"version", description.version},
                               {"fingerprint", description.fingerprint},
                               {"flags", description.flags},
                               {"schemas", description.schemas},
                               {"kernels", kernels}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Description description_from_json(std::string_view text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    Description description;
    description.name = json.at("name");
    description.version = json.at("version");
    description.fingerprint = json.at("fingerprint");
    description.flags = json.at("flags");
    description.schemas = json.at("schemas");
    for (const auto& [what, kernel] : json.at("kernels").items()) {
      description.kernels[what] = {kernel.at("typed"), kernel.at("fallthrough"),
                                   kernel.at("why_boxed")};
    }
    return description;
  } catch (const nlohmann::json::exception& error) {
    raise(Code::kInvalidArgument, str_cat("this is no description of a plugin: ", error.what()));
  }
}

}  // namespace opyard::plugin
