#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "opyard/base/thread_annotations.h"
#include "opyard/core/storage.h"
#include "opyard/dispatch/library.h"
#include "opyard/plugin/device_calls.h"
#include "opyard/plugin/device_memory.h"

namespace opyard::plugin {

struct DeviceFacts {
  std::string product;      // empty: the plugin does not tell
  uint64_t free_bytes = 0;  // both 0: the same
  uint64_t total_bytes = 0;
};

// Calls of one operator that the CPU computed because the device's plugin has no kernel.
struct FallbackCount {
  std::string op;
  uint64_t calls = 0;
};

// The device of one generation: from its init to its fini. Everything here may be called from any
// thread, but one change at a time: the slot's lock stands around publish, withdraw, hand_over,
// fail_storages.
//
// A generation's owner does: construct after init (INVALID_ARGUMENT for an extension that is not
// fit); add libraries() to the blocks that it registers; publish() just before these; later
// withdraw() after the next generation's publish() or, when none follows, after the kernels'
// withdrawal; then, after the grace period and before it waits for leases, settle(); hand_over() or
// fail_storages() where the policy says so; and destroy this between leases at zero and fini.
class DeviceRuntime {
 public:
  // `extension` is the plugin's opyard_device_ext, `plugin` and `generation` name it in messages.
  DeviceRuntime(const void* extension, void* instance, Backend backend, Leases& leases,
                std::string plugin, uint64_t generation);
  ~DeviceRuntime();
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  Backend backend() const noexcept { return backend_; }
  uint32_t count() const noexcept { return calls_.count(); }
  const DeviceCalls& calls() const noexcept { return calls_; }
  Leases& leases() const noexcept { return leases_; }
  // "generation 3 of the plugin 'toy'"
  std::string described() const;
  // One for each device; asks the plugin.
  std::vector<DeviceFacts> facts() const;
  // The device's number, the first one for -1; INVALID_ARGUMENT when there is none.
  uint32_t number_of(Device device) const;

  // What the host registers for the device beside the plugin's own blocks, and in one publication
  // with them, after them: memory, copies, fills, reading one element, and what stands in for
  // missing kernels: the CPU when `cpu_fallback`, else an error that names the plugin and the
  // option. What the plugin has itself is left out. To be called again for each publication.
  std::vector<Library> libraries(ArrayRef<opyard_block> of_plugin, bool cpu_fallback);

  // New memory of the backend comes from here, instead of from the runtime before.
  void publish();
  // The kernels have gone; and no new memory comes from here, when no other is published.
  void withdraw() noexcept;

  // Of its memory, and of what was handed over to it.
  uint64_t bytes_held() const;
  // Waits until the devices have done what was queued, and lets go of what copies under way held.
  // Calls on it are over; nobody waits for it any more, even when this raises: its work is lost.
  void settle();
  // `to` serves all memory from here from now on: its storages' leases become leases on `to`.
  // FAILED_PRECONDITION when one of the two plugins does not say that it shares memory.
  void hand_over(DeviceRuntime& to);
  // Takes the memory away from all storages that hold some: their next use is FAILED_PRECONDITION
  // naming this generation. Waits for calls under way; not within a call.
  void fail_storages();

  // Sorted by name.
  std::vector<FallbackCount> fallback_counts() const;
  // Counts one; true the first time.
  bool count_fallback(const std::string& op);

  // A copy to the device that is under way: `source`, of which nobody else knows, stays until it is
  // done. Waits for it where the plugin has no events, or when much is under way already.
  void keep_until_done(uint32_t device, const Storage& source, MemoryUse use);
  // Lets go of what is done. Does nothing while another thread asks for it.
  void reap();
  // New memory comes from here. After the end of that, and the grace period, nothing may be under
  // way that nobody waits for.
  bool is_published() const noexcept { return published_.load(std::memory_order_acquire); }
  void set_published(bool is) noexcept { published_.store(is, std::memory_order_release); }

  // Around work of the host on memory that is served here: other generations' work comes before,
  // and sees what was done here. Does nothing while this is the only one.
  void begin_work() const;
  void end_work(uint32_t device) const;
  void wait_for_devices() const;

 private:
  struct CopyUnderWay {
    uint64_t number;
    uint32_t device;
    opyard_event event;
    Storage source;
    MemoryUse use;
  };
  bool is_over(uint32_t device, opyard_event event) const noexcept;
  // Those up to this number, on one device or all, are over.
  void let_go(uint64_t last, std::optional<uint32_t> device);
  uint64_t last_copy() const;

  const DeviceCalls calls_;
  const Backend backend_;
  Leases& leases_;
  const uint64_t generation_;
  std::atomic<bool> published_{false};

  // Held while the plugin is asked what is over, by the one who takes copies off the list. First.
  std::mutex asking_;
  mutable Mutex mutex_;  // never held while a function of the plugin runs
  DeviceMemory* const own_;
  bool handed_over_ OPYARD_GUARDED_BY(mutex_) = false;
  std::vector<DeviceMemory*> adopted_ OPYARD_GUARDED_BY(mutex_);
  std::deque<CopyUnderWay> under_way_ OPYARD_GUARDED_BY(mutex_);
  uint64_t bytes_under_way_ OPYARD_GUARDED_BY(mutex_) = 0;
  uint64_t last_copy_ OPYARD_GUARDED_BY(mutex_) = 0;
  mutable Mutex fallbacks_mutex_;
  std::map<std::string, uint64_t> fallbacks_ OPYARD_GUARDED_BY(fallbacks_mutex_);
};

}  // namespace opyard::plugin
