#include "client/cli/arguments.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "client/cli/npy.h"
#include "client/cpp/elements.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::HostTensor;
using client::Name;
using client::NamedValue;
using client::OpSchema;
using client::SchemaArgument;
using client::Value;

// "Tensor?[]" taken apart.
struct ParameterType {
  std::string base;
  bool element_optional = false;
  bool is_list = false;
  bool list_optional = false;
  bool fixed_size = false;

  explicit ParameterType(const std::string& text) {
    const size_t end = std::min(text.find_first_of("?["), text.size());
    base = text.substr(0, end);
    const size_t bracket = text.find('[');
    element_optional = text.find('?') < bracket && text.find('?') != text.npos;
    is_list = bracket != text.npos;
    list_optional = is_list && text.ends_with('?');
    fixed_size = is_list && text.compare(bracket, 2, "[]") != 0;
  }
  bool is_tensor() const { return base == "Tensor"; }
  bool takes_complex() const { return is_tensor() || base == "Scalar" || base == "complex"; }
  bool optional() const { return is_list ? list_optional : element_optional; }
};

// What a word is converted to costs something when a plainer overload would take it as it is.
struct Converted {
  Value value;
  int cost = 0;
};

constexpr int kNumberAsTensor = 10;
constexpr int kOneAsList = 5;
constexpr int kIntAsFloat = 1;

[[noreturn]] void refuse(const SchemaArgument& parameter, const std::string& got) {
  raise(Code::kInvalidArgument,
        str_cat("the argument '", parameter.name, "': got ", got, ", wanted ", parameter.type));
}

std::string shown(const std::string& word) {
  return "'" + (word.size() > 60 ? word.substr(0, 57) + "…" : word) + "'";
}

// "int32:[1,2]" in its two parts; nullopt when there is no dtype in front.
std::optional<std::pair<std::string, std::string>> split_dtype(const std::string& word) {
  const size_t colon = word.find(':');
  if (colon == word.npos || !client::find_dtype(word.substr(0, colon))) return std::nullopt;
  return std::pair(word.substr(0, colon), word.substr(colon + 1));
}

// A word that names its tensor: @file.npy, or dtype:literal.
std::optional<HostTensor> explicit_tensor(const std::string& word) {
  if (word.starts_with('@')) return read_npy(word.substr(1));
  const auto parts = split_dtype(word);
  if (!parts) return std::nullopt;
  Literal literal;
  if (!parse_literal(parts->second, &literal)) {
    throw UsageError("cannot read " + shown(word) + ": wanted a number or list behind '" +
                     parts->first + ":'");
  }
  return client::tensor_from_literal(literal, std::string(client::find_dtype(parts->first)->name));
}

Converted convert(const SchemaArgument& parameter, const ParameterType& type,
                  const Literal& literal);

// "1+2j", "-0.5j"; nullopt for everything else.
std::optional<std::complex<double>> complex_number(const std::string& word) {
  if (word.size() > 100) return std::nullopt;
  char* end = nullptr;
  const double first = std::strtod(word.c_str(), &end);
  if (end == word.c_str()) return std::nullopt;
  if (std::string_view(end) == "j") return std::complex<double>(0, first);
  char* last = nullptr;
  const double second = std::strtod(end, &last);
  if (last == end || std::string_view(last) != "j") return std::nullopt;
  return std::complex<double>(first, second);
}

// What a word that is no tensor was probably meant to be.
std::string hint_for(const std::string& word) {
  if (word.ends_with(".npy")) return "; a file is written @" + word;
  const size_t colon = word.find(':');
  const std::string prefix = word.substr(0, colon);
  const bool like_dtype =
      colon != word.npos && !prefix.empty() &&
      prefix.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == prefix.npos;
  if (!like_dtype) return "";
  try {
    client::dtype_facts(prefix);
  } catch (const Error& error) {
    return "; " + error.message();
  }
  return "";
}

Converted convert_word(const SchemaArgument& parameter, const ParameterType& type,
                       const std::string& word) {
  if (type.is_tensor()) {
    if (auto tensor = explicit_tensor(word)) return {std::move(*tensor)};
  }
  if (type.base == "str") return {word};
  if (type.base == "ScalarType") return {Name{Name::Kind::kDtype, word}};
  if (type.base == "Device") return {Name{Name::Kind::kDevice, word}};
  if (type.base == "Layout") return {Name{Name::Kind::kLayout, word}};
  if (type.base == "MemoryFormat") return {Name{Name::Kind::kMemoryFormat, word}};
  if (type.takes_complex()) {
    if (const auto number = complex_number(word)) {
      return {*number, type.is_tensor() ? kNumberAsTensor : 0};
    }
  }
  if (type.is_tensor()) {
    raise(Code::kInvalidArgument, str_cat("the argument '", parameter.name, "': got ", shown(word),
                                          ", wanted ", parameter.type, hint_for(word)));
  }
  refuse(parameter, shown(word));
}

// One value for a parameter that is no list, or one element of a list.
Converted convert_single(const SchemaArgument& parameter, const ParameterType& type,
                         const Literal& literal) {
  const bool is_int = literal.get_if<int64_t>();
  const bool is_real = literal.get_if<double>();
  const bool is_bool = literal.get_if<bool>();
  if (literal.is_null()) {
    if (!type.element_optional) refuse(parameter, "null");
    return {client::None{}};
  }
  if (const auto* text = literal.get_if<std::string>()) {
    return convert_word(parameter, type, *text);
  }
  if (type.is_tensor()) {
    if (literal.get_if<Literal::List>()) return {client::tensor_from_literal(literal, "")};
    if (is_int) return {*literal.get_if<int64_t>(), kNumberAsTensor};
    if (is_real) return {*literal.get_if<double>(), kNumberAsTensor};
    return {*literal.get_if<bool>(), kNumberAsTensor};
  }
  if (literal.get_if<Literal::List>()) refuse(parameter, "a list");
  const bool wants_real = type.base == "float" || type.base == "SymFloat";
  const bool wants_int = type.base == "int" || type.base == "SymInt";
  const bool wants_bool = type.base == "bool" || type.base == "SymBool";
  const bool any_number = type.base == "Scalar" || type.base == "complex";
  if (is_bool && (wants_bool || any_number)) return {*literal.get_if<bool>()};
  if (is_int && (wants_int || any_number)) return {*literal.get_if<int64_t>()};
  if (is_real && (wants_real || any_number)) return {*literal.get_if<double>()};
  if (is_int && wants_real) {
    return {static_cast<double>(*literal.get_if<int64_t>()), kIntAsFloat};
  }
  refuse(parameter, is_bool ? "a bool" : is_int ? "an integer" : "a real number");
}

// Typed lists travel in their own form; the empty one, too.
Value pack_list(const ParameterType& type, Value::List items) {
  const auto all = [&]<typename T>(T) {
    return std::all_of(items.begin(), items.end(), [](const Value& v) { return v.get_if<T>(); });
  };
  const auto typed = [&]<typename T>(T) -> Value {
    std::vector<T> list;
    for (const Value& item : items) list.push_back(*item.get_if<T>());
    return list;
  };
  if ((type.base == "int" || type.base == "SymInt") && all(int64_t{})) return typed(int64_t{});
  if (type.base == "float" && all(double{})) return typed(double{});
  if (type.base == "bool" && all(bool{})) return typed(bool{});
  return items;
}

Converted convert(const SchemaArgument& parameter, const ParameterType& type,
                  const Literal& literal) {
  if (!type.is_list) return convert_single(parameter, type, literal);
  if (literal.is_null()) {
    if (!type.list_optional) refuse(parameter, "null");
    return {client::None{}};
  }
  const auto* list = literal.get_if<Literal::List>();
  if (!list) {
    if (!type.fixed_size) refuse(parameter, "a single value");
    Converted one = convert_single(parameter, type, literal);
    one.cost += kOneAsList;
    return one;
  }
  Value::List items;
  int cost = 0;
  for (const Literal& item : *list) {
    Converted one = convert_single(parameter, type, item);
    // A number in a list of tensors is a tensor without dimensions.
    if (type.is_tensor() && !one.value.get_if<HostTensor>() && !one.value.is_none()) {
      one.value = client::tensor_from_literal(item, "");
    }
    cost += one.cost;
    items.push_back(std::move(one.value));
  }
  return {pack_list(type, std::move(items)), cost};
}

Converted convert_text(const SchemaArgument& parameter, const std::string& word) {
  const ParameterType type(parameter.type);
  if (type.is_tensor() && !type.is_list) {
    if (auto tensor = explicit_tensor(word)) return {std::move(*tensor)};
  }
  Literal literal;
  const bool plain_word = (type.takes_complex() && complex_number(word)) || word.starts_with('@') ||
                          split_dtype(word) || !parse_literal(word, &literal);
  if (!plain_word) {
    // A number such as 1 may be a text where a text is wanted.
    if (type.base == "str" && !literal.get_if<std::string>() && !literal.is_null()) return {word};
    return convert(parameter, type, literal);
  }
  if (type.is_list && !type.is_tensor()) refuse(parameter, shown(word));
  Converted one = convert_word(parameter, type, word);
  if (type.is_list) one.value = Value::List{std::move(one.value)};
  return one;
}

// "alpha" of "alpha=2"; empty when the word is no keyword argument.
std::string keyword_of(const std::string& word) {
  size_t end = 0;
  while (end < word.size() &&
         (std::isalnum(static_cast<unsigned char>(word[end])) || word[end] == '_')) {
    ++end;
  }
  const bool named = end > 0 && end < word.size() && word[end] == '=' &&
                     !std::isdigit(static_cast<unsigned char>(word[0]));
  return named ? word.substr(0, end) : "";
}

void check_complete(const OpSchema& schema, const std::vector<bool>& given) {
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    OPYARD_CHECK(given[i] || schema.arguments[i].has_default, kInvalidArgument, "the argument '",
                 schema.arguments[i].name, "' (", schema.arguments[i].type, ") is missing");
  }
}

bool is_out_form(const OpSchema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), [](const SchemaArgument& a) {
    return a.kwarg_only && a.alias.ends_with("!)");
  });
}

std::pair<BoundCall, int> bind_to(const OpSchema& schema, const std::vector<std::string>& words) {
  BoundCall call{schema, {}, {}};
  int cost = 0;
  std::vector<bool> given(schema.arguments.size(), false);
  for (const std::string& word : words) {
    const std::string keyword = keyword_of(word);
    size_t index = call.args.size();
    if (!keyword.empty()) {
      index = 0;
      while (index < given.size() && schema.arguments[index].name != keyword) ++index;
      OPYARD_CHECK(index < given.size(), kInvalidArgument, "there is no parameter '", keyword, "'");
    } else {
      OPYARD_CHECK(index < given.size() && !schema.arguments[index].kwarg_only, kInvalidArgument,
                   "got more than ", index, " arguments by position");
    }
    const SchemaArgument& parameter = schema.arguments[index];
    OPYARD_CHECK(!given[index], kInvalidArgument, "the argument '", parameter.name,
                 "' is given twice");
    given[index] = true;
    Converted converted =
        convert_text(parameter, keyword.empty() ? word : word.substr(keyword.size() + 1));
    cost += converted.cost;
    if (keyword.empty()) {
      call.args.push_back(std::move(converted.value));
    } else {
      call.kwargs.push_back({keyword, std::move(converted.value)});
    }
  }
  check_complete(schema, given);
  return {std::move(call), cost};
}

}  // namespace

BoundCall bind_words(const std::vector<OpSchema>& overloads,
                     const std::vector<std::string>& words) {
  std::optional<std::pair<BoundCall, int>> best;
  std::string problems;
  for (const OpSchema& schema : overloads) {
    try {
      auto bound = bind_to(schema, words);
      if (!best || bound.second < best->second) best = std::move(bound);
    } catch (const Error& error) {
      if (error.code() != Code::kInvalidArgument) throw;
      // Nobody who leaves the target out means the out= form.
      if (overloads.size() > 1 && is_out_form(schema)) continue;
      problems += str_cat(problems.empty() ? "" : "\n  ", schema.name, ": ", error.message(),
                          "; the schema is ", schema.text);
    }
  }
  OPYARD_CHECK(best.has_value(), kInvalidArgument, problems);
  return std::move(best->first);
}

}  // namespace opyard::cli
