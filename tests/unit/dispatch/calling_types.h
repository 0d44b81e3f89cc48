#pragma once

#include <functional>
#include <string>
#include <vector>

#include "opyard/dispatch/dispatcher.h"

namespace opyard::test {

// One C++ type of kernels, and operators that hand a value of it through: f(T) -> T and
// h(Tensor, T) -> (Tensor, T), each with a typed kernel and with a boxed one.
struct TypeRow {
  std::string type;  // of the argument, as in a schema
  // Calls all of them typed and boxed; says what went wrong, or nothing.
  std::function<std::string(const IValue& value)> call_all;
};

const std::vector<TypeRow>& type_rows();

// The type that a schema's text names.
SchemaType parse_type(const std::string& text);
// Values worth trying: zero and extremes, absent and present, empty and not.
std::vector<IValue> edge_values(const SchemaType& type);
// A list in the form that kernels read: an array where the type has one.
IValue list_value(const SchemaType& type, const std::vector<IValue>& elements);

// Equal in type and content; tensors and generators are the same object.
bool same_value(const IValue& a, const IValue& b);

}  // namespace opyard::test
