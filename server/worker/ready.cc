#include "ready.h"

#include "opyard/base/check.h"
#include "opyard/base/epoch.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/initialize.h"

namespace opyard::worker {

using plugin::Host;

Host& get_ready() {
  initialize();
  plugin::HostOptions options;
  options.keep_warm = std::chrono::milliseconds(0);
  Host& host = Host::global();
  host.configure(options);
  host.start();
  epoch::start();
  Dispatcher::global().generation();  // a first look at the tables: the thread's slot, and its key
  return host;
}

plugin::ChangeOptions unprobed() {
  plugin::ChangeOptions options;
  options.probe = false;
  return options;
}

plugin::GenerationInfo newest(const std::string& name) {
  for (const plugin::SlotInfo& slot : Host::global().list()) {
    if (slot.name == name && !slot.generations.empty()) return slot.generations.front();
  }
  raise(Code::kInternal, "the host does not know what it has just loaded");
}

}  // namespace opyard::worker
