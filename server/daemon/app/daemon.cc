#include "app/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "app/version.h"
#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/plugin/host.h"

namespace opyard::daemon {
namespace {

// For the operator's calls, when clients have used up the time.
constexpr std::chrono::milliseconds kShortPatience(100);

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

plugin::HostOptions host_options(const Options& options) {
  plugin::HostOptions host;
  host.check_owner = true;  // what a name finds could otherwise be anybody's code
  host.cache_dir = options.plugin_cache;
  host.keep_warm = std::chrono::seconds(
      in_range<uint64_t>("keep_warm_seconds", options.keep_warm_seconds, 0, 86400));
  host.residents = in_range<uint32_t>("plugin_generations", options.plugin_generations, 1, 1000);
  host.cpu_fallback = options.cpu_fallback;
  return host;
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
  return config;
}

// Empty: there is to be none.
std::string admin_path(const Options& options, const RpcConfig& config) {
  if (options.admin_socket == "none") return {};
  if (!options.admin_socket.empty()) return options.admin_socket;
  for (const Address& address : config.listen) {
    if (address.kind != Address::Kind::kUnix) continue;
    std::string path = address.path + ".admin";
    if (path.size() <= kMaxSocketPath) return path;
    log(LogLevel::kWarning,
        str_cat("no admin socket: ", path, " has more than the ", kMaxSocketPath,
                " bytes that a socket's path may have; choose one with "
                "--admin-socket"));
    return {};
  }
  return {};
}

}  // namespace

Daemon::Daemon(const Options& options) : options_(options), yard_(yard_options(options)) {
  in_range<uint64_t>("drain_seconds", options.drain_seconds, 0, 3600);
  const RpcConfig config = rpc_config(options);
  plugin::Host::global().configure(host_options(options));
  if (!options.no_plugins) {
    for (const std::string& name : options.plugin) yard_.load_plugin(name);
  }
  server_ = std::make_unique<YardServer>(yard_, config, kServerName);
  for (const std::string& address : addresses()) {
    log(LogLevel::kInfo, str_cat("listening at ", address));
  }
  if (const std::string path = admin_path(options, config); !path.empty()) {
    admin_ = std::make_unique<AdminServer>(yard_, path, config.limits);
    log(LogLevel::kInfo, str_cat("listening for the operator at ", admin_->address()));
  }
}

Daemon::~Daemon() = default;

bool Daemon::drain() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options_.drain_seconds);
  if (admin_) admin_->refuse_new();
  server_->drain(std::chrono::seconds(options_.drain_seconds));
  if (!admin_) {
    log(LogLevel::kInfo, "drained");
    return true;
  }
  const auto rest = end - std::chrono::steady_clock::now();
  const bool ended =
      admin_->drain(std::max(std::chrono::ceil<std::chrono::milliseconds>(rest), kShortPatience));
  for (const AdminJobs::UnderWay& change : admin_->under_way()) {
    log(LogLevel::kWarning, str_cat("'", change.name, "' has been under way for ", change.age_ms,
                                    " ms; leaving without its end"));
  }
  log(LogLevel::kInfo, "drained");
  return ended;
}

}  // namespace opyard::daemon
