#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "opyard/runtime/plugin_control.h"
#include "rpc/plugins_service.h"
#include "rpc/rpc_server.h"

namespace opyard::daemon {

// What the operator sees, on a Unix socket of its own: Plugins. Nothing of it is served elsewhere.
class AdminServer {
 public:
  // Errors of RpcServer.
  AdminServer(runtime::PluginControl& control, const std::string& path, AcceptLimits limits);
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;
  // Drains without patience, then waits for the changes under way.
  ~AdminServer() = default;

  const std::string& address() const { return server_.addresses().front(); }

  // From now on no change is begun.
  void refuse_new() { plugins_.jobs().refuse_new(); }
  // Calls have `patience` to end; work that takes longer goes on, and false says so.
  bool drain(std::chrono::milliseconds patience);
  // Changes that go on.
  std::vector<AdminJobs::UnderWay> under_way() const { return plugins_.jobs().under_way(); }

 private:
  PluginsService plugins_;
  RpcServer server_;
};

}  // namespace opyard::daemon
