#include "rpc/rpc_server.h"

#include <grpc/grpc.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>

#include <utility>

#include "opyard/base/check.h"
#include "opyard/runtime/limits.h"

namespace opyard::daemon {
namespace {

constexpr int kHandshakeTimeoutMs = 5000;
constexpr int kKeepaliveMs = 20000;
constexpr int kKeepaliveTimeoutMs = 10000;
constexpr int kCallsPerConnection = 128;
constexpr int kMetadataBytes = 8 << 10;

// gRPC shuts its threads down with its last user, and may wait ten seconds for one of them. It
// stays for the life of the process instead.
void keep_grpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(kept);
}

}  // namespace

RpcServer::RpcServer(const RpcConfig& config, const std::vector<grpc::Service*>& services,
                     const std::string& health) {
  OPYARD_CHECK(!config.listen.empty(), kInvalidArgument, "no address to listen at");
  keep_grpc();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  set_limits(builder);
  for (grpc::Service* service : services) builder.RegisterService(service);
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  handover_ = builder.experimental().AddExternalConnectionAcceptor(
      Type::FROM_FD, grpc::InsecureServerCredentials());
  for (const Address& address : config.listen) {
    if (address.kind == Address::Kind::kUnix) {
      add_unix(address, config);
    } else {
      add_tcp(builder, address, config.insecure_tcp);
    }
  }
  server_ = builder.BuildAndStart();
  OPYARD_CHECK(server_ != nullptr, kUnavailable,
               "the server cannot be started: an address is in use or may not be taken");
  size_t port = 0;
  for (size_t i = 0; i < config.listen.size(); ++i) {
    Address address = config.listen[i];
    if (address.kind == Address::Kind::kTcp) {
      address.port = static_cast<uint16_t>(*ports_[port++]);
    }
    addresses_.push_back(address.text());
  }
  server_->GetHealthCheckService()->SetServingStatus(health, true);
  for (const auto& acceptor : acceptors_) acceptor->start();
}

RpcServer::~RpcServer() { drain(std::chrono::milliseconds(0)); }

void RpcServer::set_limits(grpc::ServerBuilder& builder) const {
  // Above the published limit of a frame, so that we can refuse a longer one in our own words. One
  // that is longer still is refused by gRPC, with the same code and for that call only.
  builder.SetMaxReceiveMessageSize(static_cast<int>(2 * runtime::kLimits.frame_bytes));
  builder.SetMaxSendMessageSize(-1);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument("grpc.server_handshake_timeout_ms", kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytes);
  // Two daemons never share a port.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

void RpcServer::add_unix(const Address& address, const RpcConfig& config) {
  const auto hand_over = [this](int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = -1;
    connection.fd = fd;
    handover_->HandleNewConnection(&connection);
  };
  acceptors_.push_back(
      std::make_unique<UnixAcceptor>(address.path, config.limits, hand_over, config.option));
}

void RpcServer::add_tcp(grpc::ServerBuilder& builder, const Address& address, bool insecure) {
  OPYARD_CHECK(
      insecure, kPermissionDenied, "refusing to listen at ", address.text(),
      ": TCP has no check of who calls. Use unix:PATH, or --insecure-tcp to open a loopback "
      "port to every local user");
  OPYARD_CHECK(address.is_loopback(), kPermissionDenied, "refusing to listen at ", address.text(),
               ": --insecure-tcp is for loopback hosts (127.0.0.1, ::1, localhost) only");
  ports_.push_back(std::make_unique<int>(0));
  builder.AddListeningPort(address.text(), grpc::InsecureServerCredentials(), ports_.back().get());
}

int RpcServer::connections() const {
  int sum = 0;
  for (const auto& acceptor : acceptors_) sum += acceptor->connections();
  return sum;
}

void RpcServer::drain(std::chrono::milliseconds patience) {
  if (!server_ || std::exchange(drained_, true)) return;
  server_->GetHealthCheckService()->SetServingStatus(false);
  for (const auto& acceptor : acceptors_) acceptor->stop();
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
}

}  // namespace opyard::daemon
