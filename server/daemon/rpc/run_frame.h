#pragma once

#include <optional>

#include "opyard/runtime/session.h"
#include "opyard/v1/ops.pb.h"

namespace opyard::daemon {

// Decodes, carries out, encodes; in a task of the session. Raises only when the frame as a whole
// could not be run: INVALID_ARGUMENT, RESOURCE_EXHAUSTED when it is too long, or DEADLINE_EXCEEDED
// when `deadline` had passed before its start. Returns whether the reply says anything that the
// client asked for, errors included.
bool run_frame(runtime::Session& session, runtime::Stream& stream, const v1::OpFrame& message,
               runtime::Clock::time_point arrival,
               std::optional<runtime::Clock::time_point> deadline, v1::OpReply* reply);

}  // namespace opyard::daemon
