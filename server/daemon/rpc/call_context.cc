#include "rpc/call_context.h"

namespace opyard::daemon {

std::string_view session_token(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("opyard-session-bin");
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

runtime::SessionUse find_session(runtime::Sessions& sessions,
                                 const grpc::CallbackServerContext& context) {
  return sessions.find(session_token(context));
}

std::optional<runtime::Clock::time_point> call_deadline(
    const grpc::CallbackServerContext& context) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return std::nullopt;
  const auto left = deadline - std::chrono::system_clock::now();
  // Far deadlines would overflow the sum; a year is as good as none.
  if (left > std::chrono::hours(24 * 365)) return std::nullopt;
  return runtime::Clock::now() + std::chrono::duration_cast<runtime::Clock::duration>(left);
}

}  // namespace opyard::daemon
