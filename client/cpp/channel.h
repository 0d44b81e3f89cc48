#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <string_view>

#include "opyard/base/error.h"

// What every gRPC client of a daemon shares.

namespace opyard::client {

// A channel to unix:PATH or HOST:PORT; nothing is dialled yet. INVALID_ARGUMENT for anything else.
std::shared_ptr<grpc::Channel> make_channel(std::string_view address);

// The code of a failed call.
Code code_of(const grpc::Status& status);
// False when the status was made on the way and not by the daemon.
bool said_by_daemon(const grpc::Status& status);

}  // namespace opyard::client
