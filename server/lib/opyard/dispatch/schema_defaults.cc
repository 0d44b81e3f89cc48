#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/dispatch/schema_cursor.h"

namespace opyard::detail {
namespace {

// Words that the reference's schemas use for integers.
constexpr std::pair<std::string_view, int64_t> kIntegerWords[] = {{"Mean", 1}, {"Sum", 2}};

bool takes_numbers(BaseType type) noexcept {
  switch (type) {
    case BaseType::kInt:
    case BaseType::kSymInt:
    case BaseType::kFloat:
    case BaseType::kSymFloat:
    case BaseType::kComplex:
    case BaseType::kScalar:
      return true;
    default:
      return false;
  }
}

bool wants_integer(BaseType type) noexcept {
  return type == BaseType::kInt || type == BaseType::kSymInt;
}

template <typename T>
bool read_whole(std::string_view text, T* value) noexcept {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return status == std::errc() && end == text.data() + text.size() && !text.empty();
}

IValue parse_number(SchemaCursor& cursor, BaseType type) {
  cursor.skip_space();
  const size_t begin = cursor.position();
  const std::string_view word = cursor.word();
  int64_t integer = 0;
  if (read_whole(word, &integer)) {
    if (type == BaseType::kFloat || type == BaseType::kSymFloat) {
      return IValue(static_cast<double>(integer));
    }
    if (type == BaseType::kComplex) return IValue(std::complex<double>(double(integer), 0));
    return IValue(integer);
  }
  if (wants_integer(type)) {
    for (const auto& [name, value] : kIntegerWords) {
      if (word == name) return IValue(value);
    }
    cursor.refuse(begin, str_cat("got '", word, "', wanted a 64-bit integer as the default"));
  }
  if (type == BaseType::kScalar && (word == "True" || word == "False")) return word == "True";
  double real = 0;
  if (read_whole(word, &real)) {
    return type == BaseType::kComplex ? IValue(std::complex<double>(real, 0)) : IValue(real);
  }
  if (type == BaseType::kComplex && word.ends_with('j') &&
      read_whole(word.substr(0, word.size() - 1), &real)) {
    return IValue(std::complex<double>(0, real));
  }
  cursor.refuse(begin, str_cat("got '", word, "', wanted a number as the default"));
}

char unescape(SchemaCursor& cursor, char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case '0':
      return '\0';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      cursor.fail("one of the escapes \\n \\t \\r \\0 \\\\ \\' \\\"");
  }
}

IValue parse_string(SchemaCursor& cursor) {
  const char quote = cursor.peek();
  if (quote != '\'' && quote != '"') cursor.fail("a quoted string as the default");
  const size_t begin = cursor.position();
  cursor.step();
  std::string text;
  while (cursor.here() != quote) {
    char c = cursor.here();
    if (c == '\0' || c == '\n') cursor.refuse(begin, "the string has no closing quote");
    if (c == '\\') {
      cursor.step();
      c = unescape(cursor, cursor.here());
    }
    text += c;
    cursor.step();
  }
  cursor.step();
  return IValue(text);
}

IValue parse_bool(SchemaCursor& cursor) {
  cursor.skip_space();
  const size_t begin = cursor.position();
  const std::string_view word = cursor.word();
  if (word == "True" || word == "true") return true;
  if (word == "False" || word == "false") return false;
  cursor.refuse(begin, str_cat("got '", word, "', wanted True or False as the default"));
}

// Names of dtypes, layouts, memory formats and devices; numbers are the reference's for them.
IValue parse_name(SchemaCursor& cursor, BaseType type) {
  const char first = cursor.peek();
  const size_t begin = cursor.position();
  std::string word(first == '\'' || first == '"' ? parse_string(cursor).to_string_view()
                                                 : cursor.word());
  if (word.starts_with("torch.")) word.erase(0, 6);
  Layout layout{};
  MemoryFormat format{};
  if (type == BaseType::kScalarType) {
    if (const auto dtype = try_parse_scalar_type(word)) return *dtype;
  } else if (type == BaseType::kLayout) {
    if (try_parse(word, &layout)) return layout;
  } else if (type == BaseType::kMemoryFormat) {
    if (try_parse(word, &format)) return format;
  } else {
    try {
      return Device::parse(word);
    } catch (const Error& error) {
      cursor.refuse(begin, error.message());
    }
  }
  cursor.refuse(begin, str_cat("got '", word, "', which names no ", to_string(type)));
}

IValue parse_single(SchemaCursor& cursor, BaseType type) {
  if (takes_numbers(type)) return parse_number(cursor, type);
  switch (type) {
    case BaseType::kBool:
    case BaseType::kSymBool:
      return parse_bool(cursor);
    case BaseType::kString:
      return parse_string(cursor);
    case BaseType::kScalarType:
    case BaseType::kLayout:
    case BaseType::kMemoryFormat:
    case BaseType::kDevice:
      return parse_name(cursor, type);
    default:
      cursor.fail(str_cat("no default: a ", to_string(type), " can only have None, and only where ",
                          "it is written ", to_string(type), "?"));
  }
}

IValue make_list(const std::vector<IValue>& values, BaseType type) {
  if (wants_integer(type)) {
    std::vector<int64_t> list;
    for (const IValue& value : values) list.push_back(value.to_int());
    return IValue(list);
  }
  if (type == BaseType::kFloat || type == BaseType::kSymFloat) {
    std::vector<double> list;
    for (const IValue& value : values) list.push_back(value.to_double());
    return IValue(ArrayRef<double>(list));
  }
  if (type == BaseType::kBool || type == BaseType::kSymBool) {
    const auto list = std::make_unique<bool[]>(values.size());
    for (size_t i = 0; i < values.size(); ++i) list[i] = values[i].to_bool();
    return IValue(ArrayRef<bool>(list.get(), values.size()));
  }
  if (type == BaseType::kTensor) return IValue(ArrayRef<Tensor>());
  return IValue::list(values);
}

bool take_none(SchemaCursor& cursor) {
  return cursor.take("None") || cursor.take("null") || cursor.take("nullopt");
}

IValue parse_list(SchemaCursor& cursor, const SchemaType& type) {
  const size_t begin = cursor.position();
  std::vector<IValue> values;
  while (!cursor.take("]")) {
    if (!values.empty()) cursor.expect(",");
    values.push_back(type.element_optional && take_none(cursor) ? IValue()
                                                                : parse_single(cursor, type.base));
  }
  if (type.list_size >= 0 && !values.empty() &&
      values.size() != static_cast<size_t>(type.list_size)) {
    cursor.refuse(begin, str_cat("got ", values.size(), " values, wanted ", type.list_size,
                                 " or none for ", to_string(type)));
  }
  return make_list(values, type.base);
}

// The most copies that "int[N] x=0" makes of its value.
constexpr int64_t kMaxRepeated = 64;

}  // namespace

IValue parse_default(SchemaCursor& cursor, const SchemaType& type) {
  cursor.skip_space();
  const size_t begin = cursor.position();
  if (take_none(cursor)) {
    if (!type.is_optional()) {
      cursor.refuse(begin, str_cat("None is no default of ", to_string(type), "; write ",
                                   to_string(type), "? for a value that may be absent"));
    }
    return IValue();
  }
  if (!type.is_list) return parse_single(cursor, type.base);
  if (cursor.take("[")) return parse_list(cursor, type);
  if (type.list_size < 0) cursor.fail(str_cat("'[' for the default of ", to_string(type)));
  const IValue value = parse_single(cursor, type.base);
  if (type.list_size > kMaxRepeated) {
    cursor.refuse(begin, str_cat("one value stands for at most ", kMaxRepeated, " of a list"));
  }
  return make_list(std::vector<IValue>(static_cast<size_t>(type.list_size), value), type.base);
}

}  // namespace opyard::detail
