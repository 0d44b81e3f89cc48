#pragma once

#include <grpcpp/server_context.h>

#include <string_view>

#include "opyard/runtime/frame.h"
#include "opyard/runtime/session.h"
#include "opyard/runtime/sessions.h"

namespace opyard::daemon {

// The token in the call's metadata; empty when there is none. Borrowed from the context.
std::string_view session_token(const grpc::CallbackServerContext& context);

// The session that the call names. Errors as of Sessions::find.
runtime::SessionUse find_session(runtime::Sessions& sessions,
                                 const grpc::CallbackServerContext& context);

// The client's deadline on the clock that frames use; nothing when it set none.
std::optional<runtime::Clock::time_point> call_deadline(const grpc::CallbackServerContext& context);

}  // namespace opyard::daemon
