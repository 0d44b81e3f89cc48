#pragma once

#include "client/cpp/transport.h"
#include "opyard/dispatch/schema.h"
#include "opyard/runtime/catalog.h"
#include "opyard/runtime/frame.h"
#include "opyard/runtime/trace.h"

// Between the client's types and the runtime's.

namespace opyard::client {

// HostTensor is refused: tensors stand in puts.
runtime::Operand to_operand(const Value& value);
// Everything but tensors; `value` must not be one.
Value from_ivalue(const IValue& value);
TensorMeta meta_of(Id id, const Tensor& tensor);
// With a copy of the elements, where the host can read them.
HostTensor host_copy(const Tensor& tensor);
OpSchema from_schema(const FunctionSchema& schema);
Trail from_explanation(const Explanation& explanation);
Table from_table(const runtime::Table& table);
TraceBatch from_batch(const runtime::TraceBatch& batch);

}  // namespace opyard::client
