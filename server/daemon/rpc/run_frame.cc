#include "rpc/run_frame.h"

#include "opyard/base/check.h"
#include "rpc/decode.h"
#include "rpc/encode.h"

namespace opyard::daemon {

bool run_frame(runtime::Session& session, runtime::Stream& stream, const v1::OpFrame& message,
               runtime::Clock::time_point arrival,
               std::optional<runtime::Clock::time_point> deadline, v1::OpReply* reply) {
  OPYARD_CHECK(!deadline || runtime::Clock::now() < *deadline, kDeadlineExceeded,
               "the deadline passed before the frame was started; nothing of it has run");
  const size_t bytes = message.ByteSizeLong();
  OPYARD_CHECK(bytes <= runtime::kLimits.frame_bytes, kResourceExhausted, "the frame has ", bytes,
               " bytes, at most ", runtime::kLimits.frame_bytes,
               " are allowed; send large tensors by Tensors.Put and operations in several frames");
  runtime::Frame frame;
  frame.arrival = arrival;
  frame.deadline = deadline;
  decode_frame(message, &frame);
  const runtime::Outcome outcome = session.execute(stream, frame);
  const auto encode_start = runtime::Clock::now();
  encode_outcome(outcome, reply);
  const bool asked = reply->errors_size() > 0 || reply->results_size() > 0;
  if (message.fence() == 0) return asked;
  const std::chrono::nanoseconds encoding = runtime::Clock::now() - encode_start;
  reply->mutable_fence()->set_fence(message.fence());
  encode_timings(outcome.timings, static_cast<uint64_t>(encoding.count()),
                 reply->mutable_fence()->mutable_timings());
  return true;
}

}  // namespace opyard::daemon
