#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/host.h"
#include "opyard/runtime/executor.h"
#include "opyard/runtime/limits.h"
#include "opyard/runtime/machine.h"
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
class Yard {
 public:
  explicit Yard(YardOptions options = {});
  Yard(const Yard&) = delete;
  Yard& operator=(const Yard&) = delete;
  // Closes all sessions and waits for what is running.
  ~Yard();

  // Loads libopyard_plugin_NAME.so from the first directory that has it; a name, never a path. Does
  // nothing
  // when this yard has loaded it already. INVALID_ARGUMENT: not a plain name. NOT_FOUND: no such
  // file (names the ones there are). Other codes as the plugin host gives them.
  void load_plugin(std::string_view name);
  // Names of the plugins loaded here.
  std::vector<std::string> plugins() const;
  // Names that load_plugin would find.
  std::vector<std::string> available_plugins() const;
  const std::vector<std::string>& plugin_dirs() const { return plugin_dirs_; }

  // Devices that kernels are loaded for: "cpu", …
  std::vector<std::string> devices() const;

  Sessions& sessions() { return *sessions_; }
  // Who follows their calls.
  Traces& traces() { return traces_; }
  const Machine& machine() const { return machine_; }

 private:
  std::string find_plugin(std::string_view name) const;

  const Machine machine_;
  const std::vector<std::string> plugin_dirs_;
  mutable std::mutex mutex_;
  std::vector<std::string> plugins_;           // guarded by mutex_
  std::vector<std::shared_ptr<void>> in_use_;  // guarded by mutex_
  Traces traces_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Sessions> sessions_;
};

}  // namespace runtime

using runtime::Yard;
using runtime::YardOptions;

}  // namespace opyard
