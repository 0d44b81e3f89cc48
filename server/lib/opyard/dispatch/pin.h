#pragma once

#include "opyard/core/thread_state.h"
#include "opyard/dispatch/table.h"

namespace opyard {

// Pins the global root on a thread that has a slot and no pin, while nothing asks for attention.
// All of it is inlined, and it keeps nothing in registers, so that a call between costs no spills.
class OutermostPin {
 public:
  // `holder`: as below.
  [[gnu::always_inline]] OutermostPin(EpochSlot& slot, const char* holder) noexcept {
    slot.holder.store(holder, std::memory_order_relaxed);
    epoch::pin(slot, 0);
    thread_state.root = global_root.load(std::memory_order_acquire);
  }
  [[gnu::always_inline]] ~OutermostPin() { epoch::unpin(*thread_state.slot); }
  OutermostPin(const OutermostPin&) = delete;
  OutermostPin& operator=(const OutermostPin&) = delete;
};

// Pins the global root for one outermost call or frame; inside of another pin it does nothing, so
// that nested calls see one snapshot. Whatever is read through the root stays alive until the
// outermost pin of the thread ends; what must live longer needs a reference of its own.
//
// `holder` tells reports what the thread is in: an operator's name or schema, which outlives the
// pin; null for a frame.
class PinnedRoot {
 public:
  explicit PinnedRoot(const char* holder = nullptr) noexcept
      : attention_(epoch_domain.attention.load(std::memory_order_relaxed)),
        outermost_(!is_pinned()) {
    if (!outermost_) return;
    EpochSlot* slot = thread_state.slot;
    if (!slot) [[unlikely]]
      slot = epoch::acquire_slot(&thread_state.slot);
    slot->holder.store(holder, std::memory_order_relaxed);
    epoch::pin(*slot, attention_);
    thread_state.root = global_root.load(std::memory_order_acquire);
  }
  ~PinnedRoot() {
    if (outermost_) epoch::unpin(*thread_state.slot);
  }
  PinnedRoot(const PinnedRoot&) = delete;
  PinnedRoot& operator=(const PinnedRoot&) = delete;

  const Root& root() const noexcept { return *thread_state.root; }
  // Somebody watches calls.
  bool observed() const noexcept { return (attention_ & kAttentionObserved) != 0; }

 private:
  uint32_t attention_;
  bool outermost_;
};

}  // namespace opyard
