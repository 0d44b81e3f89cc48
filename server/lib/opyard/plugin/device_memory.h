#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <utility>

#include "opyard/base/thread_annotations.h"
#include "opyard/core/allocator.h"
#include "opyard/plugin/leases.h"

namespace opyard::plugin {

class DeviceRuntime;

// The memory that one generation gave out, and the runtime that serves it: its own, until another
// takes over. Storages hold it as their allocator, so it lives until the last of them is gone,
// which may be after the generation. Any thread.
class DeviceMemory final : public Allocator {
 public:
  explicit DeviceMemory(DeviceRuntime& server);
  // The end of its runtime: the object goes with its last storage.
  void leave() noexcept { drop_reference(); }
  // Another runtime takes part; it leaves, too.
  DeviceMemory& share() noexcept {
    references_.fetch_add(1, std::memory_order_relaxed);
    return *this;
  }

  // Each block holds a storage lease on its server from before the allocation until after its free.
  void* allocate(size_t bytes, Device device) override;
  void free(void* data, size_t bytes, Device device) noexcept override;
  // Waits for other generations' work around a change.
  void check_usable() const override;
  // The same without waiting.
  void check_kept() const;
  void copy(void* to, const void* from, size_t bytes, Device device) override;

  uint64_t bytes() const;
  // From the return on `server` serves all blocks. What has begun goes on with the old server, and
  // keeps it there with a lease.
  void serve_by(DeviceRuntime& server);
  // From the return on check_usable() raises; the blocks stay until free_all().
  void give_up();
  // Frees every block; nobody may use one any more.
  void free_all() noexcept;

 private:
  friend class MemoryUse;
  struct Block {
    uint64_t bytes;
    uint32_t device;
  };
  ~DeviceMemory() = default;
  void* allocate_from(DeviceRuntime& server, uint64_t bytes, uint32_t device);
  bool has_block(void* data) const;
  bool keep_block(DeviceRuntime& server, void* data, Block block);
  [[noreturn]] static void raise_given_twice(const DeviceRuntime& server);
  void drop_reference() noexcept;
  [[noreturn]] void raise_given_up() const;

  const std::string owner_;  // "generation 3 of the plugin 'toy'"
  const Backend backend_;
  std::atomic<bool> given_up_{false};
  std::atomic<uint64_t> references_{1};  // the runtime's, and one for each storage with memory

  mutable Mutex mutex_;
  DeviceRuntime* server_ OPYARD_GUARDED_BY(mutex_);
  std::unordered_map<void*, Block> blocks_ OPYARD_GUARDED_BY(mutex_);
  uint64_t bytes_ OPYARD_GUARDED_BY(mutex_) = 0;
};

// Keeps the runtime that serves some memory there while its functions are called. The caller holds
// a storage on that memory.
class MemoryUse {
 public:
  // FAILED_PRECONDITION when the memory was given up.
  explicit MemoryUse(const DeviceMemory& memory, LeaseKind kind = LeaseKind::kStream);
  MemoryUse(MemoryUse&& other) noexcept
      : server_(std::exchange(other.server_, nullptr)), kind_(other.kind_) {}
  MemoryUse& operator=(MemoryUse&&) = delete;
  ~MemoryUse();
  DeviceRuntime& server() const noexcept { return *server_; }

 private:
  DeviceRuntime* server_;
  LeaseKind kind_;
};

}  // namespace opyard::plugin
