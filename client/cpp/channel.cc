#include "client/cpp/channel.h"

#include <grpcpp/grpcpp.h>

#include "opyard/base/check.h"

namespace opyard::client {
namespace {

constexpr size_t kMaxSocketPath = 107;
// Room in a reply beside what the server calls a frame.
constexpr int kMaxReceive = 16 << 20;

// What gRPC is to dial. It takes `unix:PATH` and `HOST:PORT` as they are.
std::string target_of(std::string_view address) {
  if (address.starts_with("unix:")) {
    const std::string_view path = address.substr(5);
    OPYARD_CHECK(!path.empty() && path.size() <= kMaxSocketPath, kInvalidArgument,
                 "the socket path '", path, "' has ", path.size(), " bytes; wanted 1 to ",
                 kMaxSocketPath);
    return std::string(address);
  }
  const size_t colon = address.rfind(':');
  OPYARD_CHECK(colon != std::string_view::npos && colon > 0 && colon + 1 < address.size() &&
                   address.find('/') == std::string_view::npos,
               kInvalidArgument, "'", address,
               "' is no address; wanted unix:PATH (a Unix socket) or HOST:PORT");
  return std::string(address);
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(std::string_view address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceive);
  arguments.SetMaxSendMessageSize(kMaxReceive);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel(target_of(address), grpc::InsecureChannelCredentials(),
                                   arguments);
}

Code code_of(const grpc::Status& status) {
  const int number = status.error_code();
  return number >= 1 && number <= 16 ? static_cast<Code>(number) : Code::kUnknown;
}

bool said_by_daemon(const grpc::Status& status) { return !status.error_details().empty(); }

}  // namespace opyard::client
