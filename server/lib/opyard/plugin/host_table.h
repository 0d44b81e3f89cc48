#pragma once

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

 private:
  friend struct HostFunctions;
  opyard_host table_;  // first: functions find the rest behind it
  const std::string plugin_;
  Leases& leases_;
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
