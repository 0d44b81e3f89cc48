#pragma once

#include "opyard/core/thread_state.h"
#include "opyard/dispatch/table.h"

namespace opyard {

// Pins the global root for one outermost call or frame; inside of another pin it does nothing, so
// that nested calls see one snapshot. Whatever is read through the root stays alive until the
// outermost pin of the thread ends; what must live longer needs a reference of its own.
class PinnedRoot {
 public:
  PinnedRoot() noexcept
      : attention_(epoch_domain.attention.load(std::memory_order_relaxed)),
        outermost_(thread_state.root == nullptr) {
    if (!outermost_) return;
    ThreadState& state = thread_state;
    if (!state.slot) [[unlikely]]
      epoch::acquire_slot(&state.slot);
    state.slot->holder.store(nullptr, std::memory_order_relaxed);
    epoch::pin(*state.slot, attention_);
    state.root = global_root.load(std::memory_order_acquire);
  }
  ~PinnedRoot() {
    if (!outermost_) return;
    ThreadState& state = thread_state;
    state.root = nullptr;
    epoch::unpin(*state.slot);
  }
  PinnedRoot(const PinnedRoot&) = delete;
  PinnedRoot& operator=(const PinnedRoot&) = delete;

  const Root& root() const noexcept { return *thread_state.root; }
  // Somebody watches calls.
  bool observed() const noexcept { return (attention_ & kAttentionObserved) != 0; }
  // Names what the thread is in, for reports about who holds a snapshot.
  void note(const OperatorTable* table) const noexcept {
    if (outermost_) thread_state.slot->holder.store(table->op, std::memory_order_relaxed);
  }

 private:
  uint32_t attention_;
  bool outermost_;
};

}  // namespace opyard
