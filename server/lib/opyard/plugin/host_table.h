#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "opyard/base/error.h"
#include "opyard/plugin/leases.h"
#include "opyard_plugin.h"

namespace opyard::plugin {

// What the host offers to one generation of a plugin. Its functions may be called from any thread,
// until the generation is finalised.
class HostTable {
 public:
  // `plugin` names it in the log.
  HostTable(std::string plugin, Leases& leases);
  HostTable(const HostTable&) = delete;
  HostTable& operator=(const HostTable&) = delete;
  const opyard_host& table() const noexcept { return table_; }
  // The object behind a table that a plugin hands back.
  static const HostTable& of(const opyard_host* host) noexcept {
    return *reinterpret_cast<const HostTable*>(host);
  }

  Leases& leases() const noexcept { return leases_; }
  // Tells the plugin's work on host threads to come to its end, and takes no more of it. Before
  // quiesce; not for what may become active again.
  void request_stop() noexcept { stop_requested_.store(true, std::memory_order_release); }
  bool stop_requested() const noexcept { return stop_requested_.load(std::memory_order_acquire); }

 private:
  friend struct HostFunctions;
  opyard_host table_;  // first: functions find the rest behind it
  const std::string plugin_;
  Leases& leases_;
  std::atomic<bool> stop_requested_{false};
};

// Room in which one call into a plugin may leave its reason.
class StatusRoom {
 public:
  StatusRoom();
  ~StatusRoom();
  opyard_status* get() noexcept { return status_.get(); }
  // The Error for a non-zero code: "context: reason".
  Error error(int32_t code, const std::string& context) const;

 private:
  std::unique_ptr<opyard_status> status_;
};

}  // namespace opyard::plugin
