#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/executor.h"
#include "opyard/runtime/limits.h"
#include "opyard/runtime/machine.h"
#include "opyard/runtime/plugin_control.h"
#include "opyard/runtime/plugin_dirs.h"
#include "opyard/runtime/plugin_uses.h"
#include "opyard/runtime/sessions.h"
#include "opyard/runtime/trace.h"

namespace opyard {

namespace runtime {

struct YardOptions {
  // Where plugins are taken from by name, searched in this order; empty: ../lib/opyard/plugins seen
  // from libopyard's own folder's parent, that is, the prefix that the library was installed to or
  // built in.
  std::vector<std::string> plugin_dirs;
  Quotas quotas;
  int threads = 0;  // that carry out frames; 0: as many as the cgroup has cores
};

// The library, started in this process: plugins, devices and sessions. A daemon has one, an
// embedder may make one; plugins and the dispatcher's tables belong to the process, so all yards of
// a process see them. Any thread.
class Yard : public PluginControl {
 public:
  explicit Yard(YardOptions options = {});
  Yard(const Yard&) = delete;
  Yard& operator=(const Yard&) = delete;
  // Closes all sessions and waits for what is running.
  ~Yard() override;

  // Has the plugin of that name at hand: loads it unless it is active in this process already. It
  // leaves with the last yard that wanted it. Errors as of PluginDirs::find and plugin::Host::load.
  void load_plugin(std::string_view name);
  // Names of the plugins that were loaded here and are active.
  std::vector<std::string> plugins() const;
  const std::vector<std::string>& plugin_dirs() const { return plugin_dirs_.dirs(); }

  // What an operator asks for: with a report, a line in the log, and ALREADY_EXISTS for a plugin
  // that is active.
  plugin::ChangeReport load_plugin(std::string_view name,
                                   const plugin::ChangeOptions& options) override;
  plugin::ChangeReport swap_plugin(std::string_view slot, std::string_view name,
                                   const plugin::ChangeOptions& options = {}) override;
  plugin::ChangeReport unload_plugin(std::string_view slot,
                                     const plugin::ChangeOptions& options = {}) override;
  plugin::ChangeReport rollback_plugin(std::string_view slot,
                                       const plugin::ChangeOptions& options = {}) override;
  std::vector<plugin::Difference> diff_plugin(std::string_view slot,
                                              std::string_view name) override;
  std::vector<plugin::SlotInfo> plugin_slots() const override;
  void count_plugin_hits(bool on) override;
  std::vector<std::string> available_plugins() const override { return plugin_dirs_.available(); }
  CallTotals call_totals() const override { return sessions_->call_totals(); }

  // Devices that kernels are loaded for: "cpu", …
  std::vector<std::string> devices() const;

  Sessions& sessions() { return *sessions_; }
  // Who follows their calls.
  Traces& traces() { return traces_; }
  const Machine& machine() const { return machine_; }

 private:
  const Machine machine_;
  const PluginDirs plugin_dirs_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> slots_;  // by plugin's name; guarded by mutex_
  PluginUses uses_;                                        // guarded by mutex_
  Traces traces_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Sessions> sessions_;
};

}  // namespace runtime

using runtime::Yard;
using runtime::YardOptions;

}  // namespace opyard
