#pragma once

#include <cstdint>
#include <string>

#include "opyard_device.h"

namespace opyard::plugin {

// The device extension of one generation, as its host calls it: missing entries are made up for or
// raise UNIMPLEMENTED, a code other than 0 becomes an Error with the plugin's reason. Work runs on
// the default streams. Any thread; the caller sees to it that the generation is there.
class DeviceCalls {
 public:
  // Reads the extension as far as its struct_size goes. INVALID_ARGUMENT when a function that must
  // be there is missing or the plugin has no device. `plugin` names it in messages.
  DeviceCalls(const void* extension, void* instance, std::string plugin);

  const std::string& plugin() const noexcept { return plugin_; }
  uint32_t count() const noexcept { return count_; }
  bool shares_memory() const noexcept { return table_.flags & OPYARD_DEVICE_SHARES_MEMORY; }
  bool has_events() const noexcept { return has_events_; }

  // Empty when the plugin does not tell.
  std::string product(uint32_t device) const;
  // 0 and 0 when the plugin does not tell.
  void memory(uint32_t device, uint64_t* free_bytes, uint64_t* total_bytes) const;

  void* allocate(uint32_t device, uint64_t bytes) const;
  // A failure is logged.
  void free(uint32_t device, void* memory, uint64_t bytes) const noexcept;

  void clear(uint32_t device, void* to, uint64_t bytes) const;
  void copy_in(uint32_t device, void* to, const void* from, uint64_t bytes) const;
  void copy_out(uint32_t device, void* to, const void* from, uint64_t bytes) const;
  void copy_within(uint32_t device, void* to, const void* from, uint64_t bytes) const;
  // Until the default stream has done what was queued.
  void wait(uint32_t device) const;
  // … and all others.
  void wait_all(uint32_t device) const;

  // An event behind what is queued now; for has_events() only.
  opyard_event record(uint32_t device) const;
  bool is_done(uint32_t device, opyard_event event) const;
  void destroy(uint32_t device, opyard_event event) const noexcept;

 private:
  template <typename F, typename... A>
  void call(const char* what, F function, A... arguments) const;

  const opyard_device_ext table_;
  void* const instance_;
  const std::string plugin_;
  uint32_t count_ = 0;
  bool has_events_ = false;
};

}  // namespace opyard::plugin
