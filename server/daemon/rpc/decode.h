#pragma once

#include "opyard/runtime/frame.h"
#include "opyard/v1/ops.pb.h"

namespace opyard::daemon {

// The message in the runtime's terms. `frame` borrows the message's texts and bytes. What is wrong
// with a single operation is noted in OpCall::unreadable; what makes the frame as a whole
// unreadable is raised: INVALID_ARGUMENT for more operations, uploads, fetches or releases than the
// limits allow.
void decode_frame(const v1::OpFrame& message, runtime::Frame* frame);

// One value. INVALID_ARGUMENT for an unset one, an unknown name, or limits passed.
runtime::Operand decode_operand(const v1::Value& value);

// Operands of a call that is only explained. The same errors.
void decode_operands(const google::protobuf::RepeatedPtrField<v1::Value>& args,
                     const google::protobuf::RepeatedPtrField<v1::NamedValue>& kwargs,
                     runtime::OpCall* call);

}  // namespace opyard::daemon
