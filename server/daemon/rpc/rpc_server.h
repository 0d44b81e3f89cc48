#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "opyard/runtime/once_signal.h"
#include "opyard/runtime/yard.h"
#include "rpc/address.h"
#include "rpc/control_service.h"
#include "rpc/ops_service.h"
#include "rpc/registry_service.h"
#include "rpc/tensors_service.h"
#include "rpc/unix_acceptor.h"

namespace opyard::daemon {

struct RpcConfig {
  std::vector<Address> listen;
  AcceptLimits limits;
  bool insecure_tcp = false;  // allow TCP, for loopback hosts only
  std::string server_name;
};

// The gRPC server: Control, Ops, Tensors, Registry and grpc.health.v1 on all addresses. It serves
// from its construction on.
class RpcServer {
 public:
  // Errors of SocketFile for Unix sockets. PERMISSION_DENIED for a TCP address without
  // insecure_tcp, or one that is not loopback. UNAVAILABLE when a port cannot be taken.
  RpcServer(Yard& yard, const RpcConfig& config);
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;
  // Drains without patience.
  ~RpcServer();

  // Where it really listens: a port 0 has become the one that was given.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Connections over Unix sockets, now.
  int connections() const;

  // Health says NOT_SERVING, nothing new is accepted, streams end behind the frame under way, calls
  // under way have `patience` to finish. Returns when all have ended. Idempotent.
  void drain(std::chrono::milliseconds patience);

 private:
  void set_limits(grpc::ServerBuilder& builder) const;
  void add_tcp(grpc::ServerBuilder& builder, const Address& address, bool insecure);
  void add_unix(const Address& address, AcceptLimits limits);

  Yard& yard_;
  runtime::OnceSignal draining_;
  ControlService control_;
  OpsService ops_;
  TensorsService tensors_;
  RegistryService registry_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<int>> ports_;  // written by gRPC when it starts
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> handover_;
  std::vector<std::unique_ptr<UnixAcceptor>> acceptors_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace opyard::daemon
