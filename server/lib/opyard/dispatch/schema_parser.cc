#include <algorithm>
#include <array>
#include <cctype>

#include "opyard/base/check.h"
#include "opyard/dispatch/schema_cursor.h"

namespace opyard {
namespace {

using detail::SchemaCursor;

constexpr size_t kMaxText = size_t{64} << 10;
constexpr size_t kMaxArguments = 64;
constexpr size_t kMaxAliasSets = 64;
constexpr int64_t kMaxListSize = 1 << 20;
constexpr int kMaxDepth = 8;

BaseType base_type_of(SchemaCursor& cursor) {
  cursor.skip_space();
  const size_t begin = cursor.position();
  const std::string_view word = cursor.identifier("a type, such as Tensor or int");
  for (int i = 0; i <= static_cast<int>(BaseType::kDict); ++i) {
    if (to_string(static_cast<BaseType>(i)) == word) return static_cast<BaseType>(i);
  }
  cursor.refuse(
      begin,
      str_cat("got '", word, "', wanted a type: Tensor, int, SymInt, float, bool, ",
              "complex, Scalar, str, ScalarType, Layout, MemoryFormat, Device or ", "Generator"));
}

bool may_alias(BaseType type) noexcept {
  return type == BaseType::kTensor || type == BaseType::kStorage || type == BaseType::kGenerator ||
         type == BaseType::kStream || type == BaseType::kDict || type == BaseType::kAny;
}

std::vector<std::string> alias_sets(SchemaCursor& cursor) {
  std::vector<std::string> sets;
  do {
    if (sets.size() == kMaxAliasSets) cursor.fail("at most 64 alias sets");
    sets.emplace_back(cursor.take("*") ? "*"
                                       : cursor.identifier("the name of an alias set or '*'"));
  } while (cursor.take("|"));
  return sets;
}

// "(a)", "(a!)", "(a -> *)", "(a|b! -> c)"; the "(" is taken already.
AliasInfo parse_alias(SchemaCursor& cursor) {
  AliasInfo alias;
  alias.before = alias_sets(cursor);
  alias.is_write = cursor.take("!");
  alias.has_arrow = cursor.take("->");
  alias.after = alias.has_arrow ? alias_sets(cursor) : alias.before;
  cursor.expect(")");
  return alias;
}

int64_t parse_list_size(SchemaCursor& cursor) {
  cursor.skip_space();
  const size_t begin = cursor.position();
  int64_t size = 0;
  while (std::isdigit(static_cast<unsigned char>(cursor.here()))) {
    size = size * 10 + (cursor.here() - '0');
    if (size > kMaxListSize) cursor.refuse(begin, "the size of the list is too large");
    cursor.step();
  }
  if (cursor.position() == begin) cursor.fail("']' or the size of the list");
  if (size == 0) cursor.refuse(begin, "a list of fixed size has at least one element");
  return size;
}

void parse_type(SchemaCursor& cursor, Argument& argument, int depth = 1);

// "(str, Tensor[])" behind Dict.
void parse_dict_types(SchemaCursor& cursor, SchemaType& type, int depth) {
  cursor.expect("(");
  for (int i = 0; i < 2; ++i) {
    if (i == 1) cursor.expect(",");
    cursor.skip_space();
    const size_t begin = cursor.position();
    Argument part;
    parse_type(cursor, part, depth + 1);
    if (part.alias) cursor.refuse(begin, "a type inside of a Dict takes no alias annotation");
    const BaseType base = part.type.base;
    const bool is_key = base == BaseType::kInt || base == BaseType::kFloat ||
                        base == BaseType::kBool || base == BaseType::kString;
    if (i == 0 && (!is_key || part.type.is_list || part.type.element_optional)) {
      cursor.refuse(begin, str_cat("got ", to_string(part.type),
                                   ", wanted int, float, bool or str as the keys of a Dict"));
    }
    type.inner.push_back(std::move(part.type));
  }
  cursor.expect(")");
}

void parse_list_suffixes(SchemaCursor& cursor, SchemaType& type, int depth) {
  while (cursor.take("[")) {
    if (type.is_list) {
      if (++depth > kMaxDepth) cursor.fail(str_cat("types nested at most ", kMaxDepth, " deep"));
      SchemaType outer;
      outer.base = BaseType::kList;
      outer.inner.push_back(std::move(type));
      type = std::move(outer);
    }
    type.is_list = true;
    if (!cursor.take("]")) {
      type.list_size = parse_list_size(cursor);
      cursor.expect("]");
    }
    type.list_optional = cursor.take("?");
  }
}

void parse_type(SchemaCursor& cursor, Argument& argument, int depth) {
  SchemaType& type = argument.type;
  if (depth > kMaxDepth) cursor.fail(str_cat("types nested at most ", kMaxDepth, " deep"));
  cursor.skip_space();
  const size_t begin = cursor.position();
  type.base = base_type_of(cursor);
  if (type.base == BaseType::kDict) parse_dict_types(cursor, type, depth);
  if (cursor.take("(")) {
    if (!may_alias(type.base)) {
      cursor.refuse(begin, str_cat("a ", to_string(type.base),
                                   " shares no memory and takes no alias annotation"));
    }
    argument.alias = parse_alias(cursor);
  }
  type.element_optional = cursor.take("?");
  parse_list_suffixes(cursor, type, depth);
}

// Default texts are printed as they were written; line breaks between tokens become blanks.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

Argument parse_argument(SchemaCursor& cursor, bool kwarg_only) {
  Argument argument;
  argument.kwarg_only = kwarg_only;
  parse_type(cursor, argument);
  argument.name = cursor.identifier("the argument's name");
  if (cursor.take("=")) {
    cursor.skip_space();
    const size_t begin = cursor.position();
    argument.default_value = detail::parse_default(cursor, argument.type);
    argument.default_text = one_line(cursor.text_from(begin));
  }
  return argument;
}

// What the reference demands of a list of arguments: names once each, and no positional argument
// without a default behind one that has it (lists excepted).
void check_argument(SchemaCursor& cursor, size_t begin, const FunctionSchema& schema,
                    const Argument& argument) {
  if (schema.arguments.size() == kMaxArguments) {
    cursor.refuse(begin, str_cat("more than ", kMaxArguments, " arguments"));
  }
  if (schema.argument_index(argument.name) >= 0) {
    cursor.refuse(begin, str_cat("the argument '", argument.name, "' stands twice"));
  }
  if (argument.kwarg_only || argument.default_value || argument.type.is_list) return;
  for (const Argument& earlier : schema.arguments) {
    if (!earlier.default_value) continue;
    cursor.refuse(begin, str_cat("the argument '", argument.name, "' needs a default, as '",
                                 earlier.name, "' before it has one"));
  }
}

void parse_arguments(SchemaCursor& cursor, FunctionSchema& schema) {
  cursor.expect("(");
  bool kwarg_only = false;
  bool after_star = false;
  for (bool first = true; cursor.peek() != ')' || after_star; first = false) {
    if (!first) cursor.expect(",");
    cursor.skip_space();
    const size_t begin = cursor.position();
    if (cursor.take("...")) {
      if (after_star) cursor.refuse(begin, "'*' needs an argument behind it");
      schema.is_vararg = true;
      if (cursor.peek() != ')') cursor.fail("')' behind '...'");
      break;
    }
    if (cursor.take("*")) {
      if (kwarg_only) cursor.refuse(begin, "'*' stands twice");
      kwarg_only = after_star = true;
      continue;
    }
    Argument argument = parse_argument(cursor, kwarg_only);
    check_argument(cursor, begin, schema, argument);
    schema.arguments.push_back(std::move(argument));
    after_star = false;
  }
  cursor.expect(")");
}

Argument parse_return(SchemaCursor& cursor) {
  Argument argument;
  parse_type(cursor, argument);
  const char next = cursor.peek();
  if (std::isalpha(static_cast<unsigned char>(next)) || next == '_') {
    argument.name = cursor.identifier("the name of the return");
  }
  return argument;
}

void parse_returns(SchemaCursor& cursor, FunctionSchema& schema) {
  cursor.expect("->");
  if (cursor.take("...")) {
    schema.is_varret = true;
    return;
  }
  if (!cursor.take("(")) {
    schema.returns.push_back(parse_return(cursor));
    return;
  }
  schema.returns_tuple_text = true;
  for (bool first = true; !cursor.take(")"); first = false) {
    if (!first) cursor.expect(",");
    if (schema.returns.size() == kMaxArguments) cursor.fail("at most 64 returns");
    if (cursor.take("...")) {
      schema.is_varret = true;
      cursor.expect(")");
      return;
    }
    schema.returns.push_back(parse_return(cursor));
  }
}

bool is_dunder(std::string_view text) noexcept {
  return text.size() >= 4 && text.starts_with("__") && text.ends_with("__");
}

OperatorName parse_name(SchemaCursor& cursor) {
  OperatorName name;
  name.name = cursor.identifier("the operator's name");
  while (cursor.take("::")) {
    name.name += "::";
    name.name += cursor.identifier("a name behind '::'");
  }
  if (cursor.take(".")) {
    const size_t begin = cursor.position();
    name.overload = cursor.identifier("the overload's name behind '.'");
    if (name.overload == "default" || is_dunder(name.overload)) {
      cursor.refuse(begin, str_cat("'", name.overload, "' is not a legal overload name"));
    }
  }
  return name;
}

void check_text(std::string_view text) {
  OPYARD_CHECK(text.size() <= kMaxText, kInvalidArgument, "the schema has ", text.size(),
               " bytes; at most ", kMaxText, " are taken");
  const size_t zero = text.find('\0');
  OPYARD_CHECK(zero == std::string_view::npos, kInvalidArgument, "schema, position ", zero,
               ": got a zero byte, wanted text");
}

}  // namespace

FunctionSchema parse_schema(std::string_view text) {
  check_text(text);
  SchemaCursor cursor(text);
  FunctionSchema schema;
  OperatorName name = parse_name(cursor);
  schema.name = std::move(name.name);
  schema.overload = std::move(name.overload);
  parse_arguments(cursor, schema);
  parse_returns(cursor, schema);
  if (!cursor.at_end()) cursor.fail("the end of the schema");
  return schema;
}

OperatorName parse_operator_name(std::string_view text) {
  check_text(text);
  SchemaCursor cursor(text);
  OperatorName name = parse_name(cursor);
  if (!cursor.at_end()) cursor.fail("the end of the operator's name");
  return name;
}

}  // namespace opyard
