#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/options.h"
#include "opyard/runtime/yard.h"
#include "rpc/rpc_server.h"

namespace opyard::daemon {

// The daemon as an object: a yard with its plugins, served. It serves from its construction on.
class Daemon {
 public:
  // Errors of Yard::load_plugin and RpcServer; INVALID_ARGUMENT for an option out of its range.
  explicit Daemon(const Options& options);
  ~Daemon();

  Yard& yard() { return yard_; }
  RpcServer& server() { return *server_; }
  const std::vector<std::string>& addresses() const { return server_->addresses(); }

  // Lets everything under way finish, within options.drain_seconds; then all has ended. Idempotent.
  void drain();

 private:
  const Options options_;
  Yard yard_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace opyard::daemon
