#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "opyard/base/epoch.h"

// What the reclaimer decides, apart from its thread. Inside of the library, and for its tests.

namespace opyard::epoch {

struct Retired {
  void* object;
  void (*free)(void*);  // must not throw
  size_t bytes;
  uint64_t epoch;  // readers pinned in an earlier epoch may still hold the object
};

// Objects that wait to be freed, oldest first. Guarded by its owner's mutex.
class RetiredQueue {
 public:
  // Epochs never fall.
  void push(const Retired& item) { items_.push_back(item); }
  bool empty() const noexcept { return items_.empty(); }
  bool being_freed() const noexcept { return taken_ != 0; }
  // Objects not freed yet, and the epoch of the oldest (UINT64_MAX: there is none).
  size_t unfreed() const noexcept { return items_.size() + being_freed(); }
  uint64_t oldest_unfreed() const noexcept {
    if (being_freed()) return taken_;
    return items_.empty() ? UINT64_MAX : items_.front().epoch;
  }

  // Finds the oldest pin by `look_at_pins()`, with the mutex open. The look says nothing of what is
  // retired after it began, so the line is drawn before it.
  template <typename Lock, typename Look>
  void look(Lock& lock, Look look_at_pins) {
    const size_t line = items_.size();
    lock.unlock();
    const uint64_t oldest_pin = look_at_pins();
    lock.lock();
    looked_at_ = line;
    oldest_pin_ = oldest_pin;
  }
  // The next object that nobody holds, as the last look has shown; false when there is none. It
  // counts as unfreed until done().
  bool take(Retired* item) noexcept;
  void done() noexcept { taken_ = 0; }

 private:
  std::deque<Retired> items_;
  size_t looked_at_ = 0;  // so many, from the oldest on, were there before the last look
  uint64_t oldest_pin_ = 0;
  uint64_t taken_ = 0;
};

// Orders all readers, then looks at their slots: every reader whose pin this does not see finds
// what was published before the call. The oldest epoch that a thread is pinned in, UINT64_MAX when
// none is; 0 when the kernel would not order readers, so that nothing may be freed.
uint64_t look_at_pins() noexcept;

// This thread is pinned.
bool pinned_here() noexcept;

// In the child of a fork: the slots of all threads but the one that forked are free.
void keep_only_slot_of(int64_t parent_thread_id) noexcept;

}  // namespace opyard::epoch
