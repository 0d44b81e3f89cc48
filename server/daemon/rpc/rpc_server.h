#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rpc/address.h"
#include "rpc/unix_acceptor.h"

namespace opyard::daemon {

struct RpcConfig {
  std::vector<Address> listen;
  AcceptLimits limits;
  bool insecure_tcp = false;  // allow TCP, for loopback hosts only
  // The option that chooses the address, for messages.
  std::string option = "--listen unix:PATH";
};

// A gRPC server: some services and grpc.health.v1 on all addresses. It serves from its construction
// on.
class RpcServer {
 public:
  // Errors of SocketFile for Unix sockets. PERMISSION_DENIED for a TCP address without
  // insecure_tcp, or one that is not loopback. UNAVAILABLE when a port cannot be taken.
  // `services` must outlive the server; health knows it by the name `health`.
  RpcServer(const RpcConfig& config, const std::vector<grpc::Service*>& services,
            const std::string& health);
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;
  // Drains without patience.
  ~RpcServer();

  // Where it really listens: a port 0 has become the one that was given.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Connections over Unix sockets, now.
  int connections() const;

  // Health says NOT_SERVING, nothing new is accepted, calls under way have `patience` to finish and
  // are cancelled then. Returns when all have ended. Idempotent.
  void drain(std::chrono::milliseconds patience);

 private:
  void set_limits(grpc::ServerBuilder& builder) const;
  void add_tcp(grpc::ServerBuilder& builder, const Address& address, bool insecure);
  void add_unix(const Address& address, const RpcConfig& config);

  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<int>> ports_;  // written by gRPC when it starts
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> handover_;
  std::vector<std::unique_ptr<UnixAcceptor>> acceptors_;
  std::unique_ptr<grpc::Server> server_;
  bool drained_ = false;
};

}  // namespace opyard::daemon
