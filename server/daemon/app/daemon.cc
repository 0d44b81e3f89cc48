#include "app/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "app/version.h"
#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace opyard::daemon {
namespace {

template <typename T>
T in_range(const char* name, uint64_t value, uint64_t least, uint64_t most) {
  OPYARD_CHECK(value >= least && value <= most, kInvalidArgument, "the option ", name, " is ",
               value, ", wanted ", least, " to ", most);
  return static_cast<T>(value);
}

YardOptions yard_options(const Options& options) {
  YardOptions yard;
  yard.plugin_dirs = options.plugin_dir;
  yard.threads = in_range<int>("threads", options.threads, 0, 1024);
  yard.quotas.total_bytes = options.memory_bytes;
  yard.quotas.session_bytes = options.session_bytes;
  yard.quotas.session_handles =
      in_range<uint64_t>("session_handles", options.session_handles, 1, 1u << 30);
  yard.quotas.sessions = in_range<uint32_t>("sessions", options.sessions, 1, 1u << 20);
  yard.quotas.lease_seconds = in_range<uint32_t>("lease_seconds", options.lease_seconds, 1, 86400);
  return yard;
}

RpcConfig rpc_config(const Options& options) {
  RpcConfig config;
  for (const std::string& text : options.listen) config.listen.push_back(parse_address(text));
  if (config.listen.empty()) {
    config.listen.push_back(
        default_address(geteuid(), std::getenv("XDG_RUNTIME_DIR"), std::getenv("TMPDIR")));
  }
  config.limits.total = in_range<int>("connections", options.connections, 1, 1u << 20);
  config.limits.per_uid =
      in_range<int>("connections_per_user", options.connections_per_user, 1, 1u << 20);
  config.insecure_tcp = options.insecure_tcp;
  config.server_name = kServerName;
  return config;
}

}  // namespace

Daemon::Daemon(const Options& options) : options_(options), yard_(yard_options(options)) {
  in_range<uint64_t>("drain_seconds", options.drain_seconds, 0, 3600);
  const RpcConfig config = rpc_config(options);
  if (!options.no_plugins) {
    for (const std::string& name : options.plugin) yard_.load_plugin(name);
  }
  server_ = std::make_unique<RpcServer>(yard_, config);
  for (const std::string& address : addresses()) {
    log(LogLevel::kInfo, str_cat("listening at ", address));
  }
}

Daemon::~Daemon() = default;

void Daemon::drain() {
  server_->drain(std::chrono::seconds(options_.drain_seconds));
  log(LogLevel::kInfo, "drained");
}

}  // namespace opyard::daemon
