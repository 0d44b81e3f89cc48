#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "opyard/runtime/once_signal.h"
#include "opyard/runtime/yard.h"
#include "rpc/control_service.h"
#include "rpc/ops_service.h"
#include "rpc/registry_service.h"
#include "rpc/rpc_server.h"
#include "rpc/tensors_service.h"

namespace opyard::daemon {

// What clients see: Control, Ops, Tensors and Registry of a yard.
class YardServer {
 public:
  // Errors of RpcServer.
  YardServer(Yard& yard, const RpcConfig& config, std::string server_name);
  YardServer(const YardServer&) = delete;
  YardServer& operator=(const YardServer&) = delete;
  // Drains without patience.
  ~YardServer();

  const std::vector<std::string>& addresses() const { return server_.addresses(); }
  int connections() const { return server_.connections(); }
  // As RpcServer::drain; streams end behind the frame under way, no session is opened any more.
  void drain(std::chrono::milliseconds patience);

 private:
  Yard& yard_;
  runtime::OnceSignal draining_;
  ControlService control_;
  OpsService ops_;
  TensorsService tensors_;
  RegistryService registry_;
  RpcServer server_;
};

}  // namespace opyard::daemon
