#pragma once

#include <atomic>
#include <cstddef>

#include "opyard/base/intrusive_ptr.h"
#include "opyard/core/allocator.h"

namespace opyard {

// A block of device memory that tensors share. Counting is safe from any thread; contents follow
// the rule of the tensors on it. The version counts in-place writes, for autograd.
class StorageImpl final : public RefCounted {
 public:
  void* data() const noexcept { return data_; }
  size_t nbytes() const noexcept { return nbytes_; }
  Device device() const noexcept { return device_; }
  // Where the memory came from and goes to; null for memory of somebody else.
  Allocator* allocator() const noexcept { return allocator_; }
  // Raises FAILED_PRECONDITION when the memory was taken away with the plugin that it came from.
  // Operators ask before they touch memory that is not the host's.
  void check_usable() const {
    if (allocator_ && !device_.is_cpu()) allocator_->check_usable();
  }
  uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() noexcept { version_.fetch_add(1, std::memory_order_relaxed); }
  // Replaces the memory by a block of `nbytes`, keeping the common beginning. Raises
  // FAILED_PRECONDITION for memory that is not ours to move.
  void resize(size_t nbytes);

  static void destroy(StorageImpl* storage) noexcept;

 private:
  friend IntrusivePtr<StorageImpl> make_storage(size_t nbytes, Device device);
  friend IntrusivePtr<StorageImpl> wrap_memory(void* data, size_t nbytes, Device device,
                                               void (*free)(void* context), void* context);
  StorageImpl() = default;
  ~StorageImpl() = default;
  void resize_anew(size_t nbytes);

  void* data_ = nullptr;
  size_t nbytes_ = 0;
  Device device_;
  std::atomic<uint32_t> version_{0};
  Allocator* allocator_ = nullptr;         // null: foreign memory, freed by free_, or none
  IntrusivePtr<AllocationBudget> budget_;  // paid back at the end
  void (*free_)(void*) = nullptr;
  void* context_ = nullptr;
};

using Storage = IntrusivePtr<StorageImpl>;

// New memory from the device's allocator, charged to the thread's budget. A meta storage has a
// size and no memory.
Storage make_storage(size_t nbytes, Device device);

// Memory of somebody else. `free(context)` runs once, when the last tensor on it goes, on whatever
// thread that happens; null keeps it for ever.
Storage wrap_memory(void* data, size_t nbytes, Device device, void (*free)(void* context),
                    void* context);

}  // namespace opyard
