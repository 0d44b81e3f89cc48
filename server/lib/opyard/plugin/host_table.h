#pragma once

#include <memory>
#include <string>

#include "opyard/base/error.h"
#include "opyard_plugin.h"

namespace opyard::plugin {

// What the host offers to every plugin. Any thread.
const opyard_host& host_table() noexcept;

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
