#pragma once

#include "opyard/core/stack.h"
#include "opyard/dispatch/schema.h"
#include "opyard/runtime/frame.h"
#include "opyard/runtime/tensor_store.h"

namespace opyard::runtime {

// A value as the parameter wants it: a bare number becomes a wrapped number where a Tensor is
// wanted, one value becomes N for `int[N]`, integers become floats, names of dtypes, devices and
// layouts become what they name. CallError INVALID_ARGUMENT says what was got and what is wanted,
// naming the parameter.
IValue fit_value(const Argument& parameter, IValue value);

// The call's operands in the order of the schema, defaults filled in, ids replaced by the values of
// the store. CallError: INVALID_ARGUMENT for a wrong count, an unknown, doubled or missing
// parameter or a wrong type; what TensorStore::at says of ids.
Stack bind_operands(const FunctionSchema& schema, const OpCall& call, const TensorStore& store);

}  // namespace opyard::runtime
