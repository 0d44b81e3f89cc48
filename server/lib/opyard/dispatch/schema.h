#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/core/ivalue.h"

namespace opyard {

// What an argument may be. There are no symbolic numbers yet: SymInt, SymFloat and SymBool are
// other words for int, float and bool, in kernels, values and comparisons alike.
enum class BaseType : uint8_t {
  kTensor,
  kInt,
  kSymInt,
  kFloat,
  kSymFloat,
  kBool,
  kSymBool,
  kComplex,
  kScalar,
  kString,
  kScalarType,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator,
  kStream,
  kStorage,
  kDimname,
  kQScheme,
  kAny,
  kDict,
  kList,  // what a list of lists is a list of; not a word of the grammar
};

// "int", "SymInt", "Tensor": as in a schema.
std::string_view to_string(BaseType type) noexcept;

// Alias annotation "(a)", "(a!)", "(a|b! -> *)": which sets a value may share memory with before
// and after the call, and whether it is written to.
struct AliasInfo {
  std::vector<std::string> before;
  std::vector<std::string> after;  // equal to before unless "->" says otherwise; "*" is any
  bool is_write = false;
  bool has_arrow = false;
  friend bool operator==(const AliasInfo&, const AliasInfo&) = default;
};

// A type as the schema grammar spells it: base, then any of "?", "[]", "[N]", in that order of
// nesting: Tensor?[] is list of optional, int[]? optional list. Of a list of lists, int[]?[], the
// base is kList.
struct SchemaType {
  BaseType base = BaseType::kTensor;
  bool element_optional = false;  // "?" directly behind the base: T? or T?[]
  bool is_list = false;
  int64_t list_size = -1;      // N of "[N]": a single value then stands for N equal ones; -1: none
  bool list_optional = false;  // "?" behind "[]"
  // Of kList the type of the elements, of kDict those of key and value: Dict(str, Tensor[]).
  std::vector<SchemaType> inner{};
  friend bool operator==(const SchemaType&, const SchemaType&) = default;

  // A value may be absent.
  bool is_optional() const noexcept { return is_list ? list_optional : element_optional; }
  bool is_tensor_like() const noexcept { return base == BaseType::kTensor; }
};
std::string to_string(const SchemaType& type);

struct Argument {
  std::string name;  // may be empty for a return
  SchemaType type;
  std::optional<IValue> default_value{};
  std::string default_text{};  // as written, so that the schema prints as it was
  bool kwarg_only = false;
  std::optional<AliasInfo> alias{};
};

// One operator's signature. Immutable once parsed.
struct FunctionSchema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; may be empty
  std::vector<Argument> arguments;
  std::vector<Argument> returns;
  bool returns_tuple_text = false;  // the returns were written in parentheses
  bool is_vararg = false;
  bool is_varret = false;

  // "aten::add.Tensor"
  std::string full_name() const;
  std::string_view name_space() const;
  // Position of an argument; -1 when there is none of that name.
  int argument_index(std::string_view name) const noexcept;
  // Writes into its first argument and returns it.
  bool is_inplace() const noexcept;
  // Trailing keyword arguments that are written to and returned.
  size_t num_out_arguments() const noexcept;
  // A return shares memory with an argument that is not written to.
  bool is_view() const noexcept;
  bool is_mutable() const noexcept;
};

// Prints in the form that parse_schema reads; parse then print gives the same text.
std::string to_string(const FunctionSchema& schema);

// Reads "ns::name.overload(Type name=default, *, …) -> (…)". Raises INVALID_ARGUMENT with the
// position and what was expected. At most 64 arguments, 64 KiB of text, types 8 deep.
FunctionSchema parse_schema(std::string_view text);

// A name without signature, "ns::name.overload"; the namespace may be missing. Refuses the overload
// names "default" and "__x__".
struct OperatorName {
  std::string name;  // with namespace where one was given
  std::string overload;
  std::string full() const;
  friend bool operator==(const OperatorName&, const OperatorName&) = default;
};
OperatorName parse_operator_name(std::string_view text);

// Why `actual` (inferred from C++) does not fit `declared`: the number of arguments or returns, or
// a type; nullopt when it fits. Names, defaults and aliases are not compared.
std::optional<std::string> schema_difference(const FunctionSchema& declared,
                                             const FunctionSchema& actual);

}  // namespace opyard
