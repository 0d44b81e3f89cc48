#include "rpc/yard_server.h"

#include <utility>

namespace opyard::daemon {

YardServer::YardServer(Yard& yard, const RpcConfig& config, std::string server_name)
    : yard_(yard),
      control_(yard, std::move(server_name)),
      ops_(yard, draining_),
      tensors_(yard),
      registry_(yard),
      server_(config, {&control_, &ops_, &tensors_, &registry_}, "opyard.v1.Ops") {}

YardServer::~YardServer() { drain(std::chrono::milliseconds(0)); }

void YardServer::drain(std::chrono::milliseconds patience) {
  draining_.fire();
  yard_.sessions().refuse_new();
  server_.drain(patience);
}

}  // namespace opyard::daemon
