#include "opyard/dispatch/schema.h"

#include <algorithm>
#include <array>

#include "opyard/base/check.h"

namespace opyard {
namespace {

constexpr std::array<std::string_view, 22> kTypeNames = {
    "Tensor",  "int",     "SymInt",     "float",  "SymFloat",     "bool",   "SymBool",   "complex",
    "Scalar",  "str",     "ScalarType", "Layout", "MemoryFormat", "Device", "Generator", "Stream",
    "Storage", "Dimname", "QScheme",    "Any",    "Dict",         "List"};
static_assert(kTypeNames.size() == static_cast<size_t>(BaseType::kList) + 1);

std::string joined(const std::vector<std::string>& sets) {
  std::string text;
  for (const std::string& set : sets) text += (text.empty() ? "" : "|") + set;
  return text;
}

std::string alias_text(const std::optional<AliasInfo>& alias) {
  if (!alias) return "";
  std::string text = "(" + joined(alias->before);
  if (alias->is_write) text += "!";
  if (alias->has_arrow) text += " -> " + joined(alias->after);
  return text + ")";
}

std::string type_text(const SchemaType& type, const std::optional<AliasInfo>& alias) {
  std::string text;
  if (type.base == BaseType::kList && type.inner.size() == 1) {
    text = type_text(type.inner[0], alias);
  } else {
    text = to_string(type.base);
    if (type.inner.size() == 2) {
      text += str_cat("(", to_string(type.inner[0]), ", ", to_string(type.inner[1]), ")");
    }
    text += alias_text(alias);
  }
  if (type.element_optional) text += "?";
  if (!type.is_list) return text;
  text += type.list_size < 0 ? "[]" : str_cat("[", type.list_size, "]");
  if (type.list_optional) text += "?";
  return text;
}

std::string argument_text(const Argument& argument) {
  std::string text = type_text(argument.type, argument.alias);
  if (!argument.name.empty()) text += " " + argument.name;
  if (argument.default_value) text += "=" + argument.default_text;
  return text;
}

std::string returns_text(const FunctionSchema& schema) {
  if (schema.is_varret && schema.returns.empty() && !schema.returns_tuple_text) return "...";
  std::string text;
  for (const Argument& argument : schema.returns) {
    text += (text.empty() ? "" : ", ") + argument_text(argument);
  }
  if (schema.is_varret) text += text.empty() ? "..." : ", ...";
  const bool one = schema.returns.size() == 1 && !schema.is_varret;
  return one && !schema.returns_tuple_text ? text : "(" + text + ")";
}

bool share_a_set(const std::vector<std::string>& a, const std::vector<std::string>& b) noexcept {
  const auto in_b = [&](const std::string& set) {
    return std::find(b.begin(), b.end(), set) != b.end();
  };
  return std::any_of(a.begin(), a.end(), in_b);
}

// The return may share memory with the argument after the call.
bool returned_by(const Argument& argument, const Argument& result) noexcept {
  if (!argument.alias || !result.alias) return false;
  return share_a_set(argument.alias->before, result.alias->before) ||
         share_a_set(argument.alias->after, result.alias->before);
}

bool writes(const Argument& argument) noexcept {
  return argument.alias && argument.alias->is_write;
}

BaseType without_sym(BaseType type) noexcept {
  switch (type) {
    case BaseType::kSymInt:
      return BaseType::kInt;
    case BaseType::kSymFloat:
      return BaseType::kFloat;
    case BaseType::kSymBool:
      return BaseType::kBool;
    default:
      return type;
  }
}

bool same_type(const SchemaType& declared, const SchemaType& actual) noexcept {
  return without_sym(declared.base) == without_sym(actual.base) &&
         declared.element_optional == actual.element_optional &&
         declared.is_list == actual.is_list && declared.list_optional == actual.list_optional &&
         std::equal(declared.inner.begin(), declared.inner.end(), actual.inner.begin(),
                    actual.inner.end(), same_type);
}

std::optional<std::string> list_difference(const std::vector<Argument>& declared,
                                           const std::vector<Argument>& actual,
                                           std::string_view what) {
  if (declared.size() != actual.size()) {
    return str_cat("The number of ", what, "s is different. ", declared.size(), " vs ",
                   actual.size(), ".");
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    if (same_type(declared[i].type, actual[i].type)) continue;
    return str_cat("Type mismatch in ", what, " ", i + 1, ": ", to_string(declared[i].type), " vs ",
                   to_string(actual[i].type), ".");
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(BaseType type) noexcept {
  const auto index = static_cast<size_t>(type);
  return index < kTypeNames.size() ? kTypeNames[index] : "unknown";
}

std::string to_string(const SchemaType& type) { return type_text(type, std::nullopt); }

std::string FunctionSchema::full_name() const {
  return overload.empty() ? name : name + "." + overload;
}

std::string_view FunctionSchema::name_space() const {
  const size_t colons = name.find("::");
  return colons == std::string::npos ? std::string_view()
                                     : std::string_view(name).substr(0, colons);
}

int FunctionSchema::argument_index(std::string_view wanted) const noexcept {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == wanted) return static_cast<int>(i);
  }
  return -1;
}

bool FunctionSchema::is_inplace() const noexcept {
  return !arguments.empty() && !arguments[0].kwarg_only && writes(arguments[0]) &&
         !returns.empty() && returned_by(arguments[0], returns[0]);
}

size_t FunctionSchema::num_out_arguments() const noexcept {
  size_t count = 0;
  for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
    const bool is_out = argument->kwarg_only && writes(*argument) &&
                        std::any_of(returns.begin(), returns.end(), [&](const Argument& result) {
                          return returned_by(*argument, result);
                        });
    if (!is_out) break;
    ++count;
  }
  return count;
}

bool FunctionSchema::is_view() const noexcept {
  for (const Argument& result : returns) {
    for (const Argument& argument : arguments) {
      if (!writes(argument) && !writes(result) && returned_by(argument, result)) return true;
    }
  }
  return false;
}

bool FunctionSchema::is_mutable() const noexcept {
  return std::any_of(arguments.begin(), arguments.end(), writes);
}

std::string to_string(const FunctionSchema& schema) {
  std::string text = schema.full_name() + "(";
  bool starred = false;
  bool first = true;
  for (const Argument& argument : schema.arguments) {
    if (!first) text += ", ";
    first = false;
    if (argument.kwarg_only && !starred) {
      text += "*, ";
      starred = true;
    }
    text += argument_text(argument);
  }
  if (schema.is_vararg) text += first ? "..." : ", ...";
  return text + ") -> " + returns_text(schema);
}

std::string OperatorName::full() const { return overload.empty() ? name : name + "." + overload; }

std::optional<std::string> schema_difference(const FunctionSchema& declared,
                                             const FunctionSchema& actual) {
  if (auto difference = list_difference(declared.arguments, actual.arguments, "argument")) {
    return difference;
  }
  return list_difference(declared.returns, actual.returns, "return");
}

}  // namespace opyard
