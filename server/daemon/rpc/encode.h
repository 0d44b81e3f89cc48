#pragma once

#include "opyard/core/tensor.h"
#include "opyard/runtime/catalog.h"
#include "opyard/runtime/frame.h"
#include "opyard/runtime/trace.h"
#include "opyard/v1/ops.pb.h"
#include "opyard/v1/registry.pb.h"

namespace opyard::daemon {

void encode_meta(uint64_t id, const Tensor& tensor, v1::TensorMeta* out);

// Any value that is not a tensor; what has no place in a Value (a generator, say) becomes its
// description as text.
void encode_value(const IValue& value, v1::Value* out);

// What came of a frame. Elements of tensors are copied into the reply as long as it stays within
// the limits of an inline value and of a frame; beyond, data_omitted says so. Run it in the
// session's task: it reads tensors.
void encode_outcome(const runtime::Outcome& outcome, v1::OpReply* reply);

void encode_timings(const runtime::Timings& timings, uint64_t encode_ns, v1::Timings* out);

void encode_schema(const FunctionSchema& schema, v1::OpSchema* out);

void encode_traced(const runtime::TracedCall& call, v1::TraceLine* out);

}  // namespace opyard::daemon
