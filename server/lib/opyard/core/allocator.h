#pragma once

#include <cstddef>
#include <cstdint>

#include "opyard/base/intrusive_ptr.h"
#include "opyard/core/device.h"

namespace opyard {

// Who pays for storage: a session's quota. Charged when storage is made while the budget stands in
// the thread state, paid back when that storage is freed, on whatever thread. Any thread.
class AllocationBudget : public RefCounted {
 public:
  // May refuse by raising RESOURCE_EXHAUSTED, before anything is allocated.
  virtual void charge(size_t bytes) = 0;
  virtual void pay_back(size_t bytes) noexcept = 0;
  static void destroy(AllocationBudget* budget) noexcept { delete budget; }

 protected:
  virtual ~AllocationBudget() = default;
};

// Memory of one device kind. Implementations raise RESOURCE_EXHAUSTED when there is none left.
// Any thread. Registered allocators live as long as their registration says (plugin host).
class Allocator {
 public:
  // `bytes` may be 0; the result is then null. Aligned for every kernel (64 bytes on the host).
  virtual void* allocate(size_t bytes, Device device) = 0;
  virtual void free(void* data, size_t bytes, Device device) noexcept = 0;
  // Raises FAILED_PRECONDITION when the memory that came from here has been taken away. Asked
  // before memory that is not the host's is used.
  virtual void check_usable() const;
  // Copies from one block to another of the same device, before whatever is done to them next.
  // Raises UNIMPLEMENTED where that was not thought of.
  virtual void copy(void* to, const void* from, size_t bytes, Device device);

 protected:
  ~Allocator() = default;
};

// Host memory, 64-byte aligned; zeroed when the thread's flags ask for it.
Allocator& host_allocator() noexcept;

// The allocator of a device kind; raises FAILED_PRECONDITION naming the device when no plugin
// brought one. Meta tensors have none and hold no memory. The result may be used while the thread
// is pinned as it was before the call (make_storage is by itself), or while memory of it is held.
Allocator& allocator_for(Backend backend);
// Null takes it away.
void set_allocator(Backend backend, Allocator* allocator) noexcept;

}  // namespace opyard
