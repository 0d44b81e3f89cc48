#include "rpc/admin_server.h"

namespace opyard::daemon {
namespace {

// For threads whose call has been answered already.
constexpr std::chrono::milliseconds kLastBreath(200);

RpcConfig config_of(const std::string& path, AcceptLimits limits) {
  RpcConfig config;
  Address address;
  address.path = path;
  config.listen = {address};
  config.limits = limits;
  config.option = "--admin-socket PATH";
  return config;
}

}  // namespace

AdminServer::AdminServer(runtime::PluginControl& control, const std::string& path,
                         AcceptLimits limits)
    : plugins_(control), server_(config_of(path, limits), {&plugins_}, "opyard.v1.Plugins") {}

bool AdminServer::drain(std::chrono::milliseconds patience) {
  refuse_new();
  server_.drain(patience);
  return plugins_.jobs().wait(kLastBreath);
}

}  // namespace opyard::daemon
