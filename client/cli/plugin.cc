#include "client/cli/plugin.h"

#include <ostream>

#include "client/cli/literal.h"
#include "client/cli/plugin_text.h"
#include "client/cli/terminal.h"
#include "client/cli/worker.h"
#include "client/local/local_admin.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::Admin;
using client::PluginChange;
using client::PluginList;
using std::chrono::milliseconds;

constexpr double kLongestSeconds = 24 * 3600;
constexpr double kLongestCount = 60;

milliseconds time_of(const char* option, double seconds, double least, double most) {
  if (!(seconds >= least && seconds <= most)) {
    throw UsageError(str_cat(option, " wants ", least, " to ", most, " seconds, got ", seconds));
  }
  return milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::unique_ptr<Admin> open_local(const Options& options) {
  // What is to be loaded by the command itself is left out.
  std::vector<std::string> plugins = options.plugins;
  std::erase(plugins, options.plugin.load);
  return client::make_local_admin(options.plugin_dirs, plugins);
}

std::unique_ptr<Admin> open_admin(const Options& options) {
  const milliseconds timeout =
      time_of("--timeout", options.plugin.timeout_seconds, 0.001, kLongestSeconds);
  if (options.local) return open_local(options);
  std::string address = options.plugin.admin_address;
  if (address.empty()) {
    address = client::default_admin_address(options.address.empty() ? client::default_address()
                                                                    : options.address);
  }
  return client::make_grpc_admin(address, timeout);
}

// What lasts as long as a daemon only.
std::unique_ptr<Admin> open_daemon(const Options& options, const char* what) {
  if (options.local) {
    throw UsageError(str_cat("plugin ", what,
                             " changes a running daemon; --local has none (list, load and diff "
                             "take it)"));
  }
  return open_admin(options);
}

client::PluginChangeOptions change_options(const Options& options) {
  client::PluginChangeOptions change = options.plugin.change;
  change.probe = !options.plugin.no_probe;
  if (options.plugin.keep_warm_seconds) {
    change.keep_warm =
        time_of("--keep-warm", *options.plugin.keep_warm_seconds, 0, kLongestSeconds);
  }
  return change;
}

int tell(const Options& options, const PluginChange& change, const char* verb, std::ostream& out) {
  out << (options.json ? to_json(change) : pretty(change, verb));
  return 0;
}

}  // namespace

int plugin_list(const Options& options, std::ostream& out) {
  const auto admin = open_admin(options);
  const PluginOptions& wanted = options.plugin;
  PluginList list;
  if (wanted.hits_seconds > 0) {
    const PluginList counted = admin->count_hits(
        wanted.slot, time_of("--hits", wanted.hits_seconds, 0.001, kLongestCount));
    list = admin->list(wanted.slot, wanted.kernels);
    add_hits(counted, &list);
  } else {
    list = admin->list(wanted.slot, wanted.kernels);
  }
  if (options.json) {
    out << to_json(list);
  } else {
    out << pretty(list, output_width(), wanted.all) << pretty_kernels(list, wanted.all);
  }
  return 0;
}

int plugin_load(const Options& options, std::ostream& out) {
  const auto admin = open_admin(options);
  return tell(options, admin->load(options.plugin.load, change_options(options)), "loaded", out);
}

int plugin_swap(const Options& options, std::ostream& out) {
  const auto admin = open_daemon(options, "swap");
  return tell(options,
              admin->swap(options.plugin.slot, options.plugin.name, change_options(options)),
              "swapped", out);
}

int plugin_unload(const Options& options, std::ostream& out) {
  const auto admin = open_daemon(options, "unload");
  return tell(options, admin->unload(options.plugin.slot, change_options(options)), "unloaded",
              out);
}

int plugin_rollback(const Options& options, std::ostream& out) {
  const auto admin = open_daemon(options, "rollback");
  return tell(options, admin->rollback(options.plugin.slot, change_options(options)), "rolled back",
              out);
}

int plugin_diff(const Options& options, std::ostream& out) {
  const std::string& slot = options.plugin.slot;
  const std::string& name = options.plugin.name;
  const auto differences = is_file_name(slot) && is_file_name(name)
                               ? diff_files(slot, name)
                               : open_admin(options)->diff(slot, name);
  out << (options.json ? to_json(differences) : pretty(differences));
  return 0;
}

}  // namespace opyard::cli
