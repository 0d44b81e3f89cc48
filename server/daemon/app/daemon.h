#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/options.h"
#include "opyard/runtime/yard.h"
#include "rpc/admin_server.h"
#include "rpc/yard_server.h"

namespace opyard::daemon {

// The daemon as an object: a yard with its plugins, served to clients and, on a socket of its own,
// to the operator. It serves from its construction on.
class Daemon {
 public:
  // Errors of Yard::load_plugin and RpcServer; INVALID_ARGUMENT for an option out of its range.
  explicit Daemon(const Options& options);
  // Waits for what drain() gave up on.
  ~Daemon();

  Yard& yard() { return yard_; }
  YardServer& server() { return *server_; }
  const std::vector<std::string>& addresses() const { return server_->addresses(); }

  // The operator's address; empty: there is none.
  std::string admin_address() const { return admin_ ? admin_->address() : std::string(); }

  // Lets everything under way finish, within options.drain_seconds; then all has ended but changes
  // of plugins that hang. False when there are any: do not wait for them. Idempotent.
  bool drain();

 private:
  const Options options_;
  Yard yard_;
  std::unique_ptr<YardServer> server_;
  std::unique_ptr<AdminServer> admin_;
};

}  // namespace opyard::daemon
