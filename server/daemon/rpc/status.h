#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "opyard/base/error.h"
#include "opyard/runtime/frame.h"
#include "opyard/v1/common.pb.h"
#include "opyard/v1/ops.pb.h"

namespace opyard::daemon {

// Messages may quote their input, so longer ones are cut.
inline constexpr size_t kMaxMessageBytes = 2048;

// The message as it may be sent: valid UTF-8, no control characters but line breaks and tabs, at
// most so many bytes.
std::string wire_text(std::string_view text, size_t most = kMaxMessageBytes);

// An error as the end of a call, with StatusDetails. Both travel in HTTP/2 metadata, of which a
// client takes 8 KiB, so its texts are cut shorter than those in replies.
grpc::Status to_status(const Error& error);

// The exception being handled, as the end of a call. Inside a catch block only.
grpc::Status current_status();

// A failure as a part of a reply.
void encode_failure(const runtime::Failure& failure, v1::OpError* out);

}  // namespace opyard::daemon
