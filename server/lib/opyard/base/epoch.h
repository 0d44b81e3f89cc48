#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

// Epoch-based reclamation: readers mark themselves with a plain store, writers pay.
//
// A reader pins its slot, reads shared pointers, and unpins. A writer unpublishes a pointer and
// retires what it pointed to; a reclaimer thread frees it once no slot is pinned from before. The
// order between the reader's store and its next load is made by membarrier(2) on the writer's
// side; where the kernel refuses that call, or under ThreadSanitizer, which does not see it,
// readers store sequentially consistently instead (see EpochDomain::fenced).

namespace opyard {

// One reader thread's mark, a cache line of its own. Written by its thread only.
struct alignas(64) EpochSlot {
  std::atomic<uint64_t> epoch{0};            // 0: not pinned
  std::atomic<const void*> holder{nullptr};  // what the thread is in, for reports
  std::atomic<int64_t> thread_id{0};         // kernel thread id; 0: the slot is free
  EpochSlot** cache = nullptr;               // the owner's pointer to this slot
  EpochSlot* next = nullptr;                 // all slots; never unlinked
};

// What a pin reads. One exported object; a cache line that only writers write.
struct alignas(64) EpochDomain {
  std::atomic<uint64_t> now{1};
  bool fenced = true;  // readers need a full fence; set once while the library is loaded
};

extern EpochDomain epoch_domain;

namespace epoch {

// Finds or makes a slot for this thread and stores it in *cache, which must live as long as the
// thread. When the thread ends the slot is given back and *cache cleared.
EpochSlot* acquire_slot(EpochSlot** cache);

inline void pin(EpochSlot& slot) noexcept {
  const uint64_t now = epoch_domain.now.load(std::memory_order_relaxed);
#if defined(OPYARD_EPOCH_SEQ_CST)
  slot.epoch.store(now, std::memory_order_seq_cst);
#else
  if (epoch_domain.fenced) [[unlikely]] {
    slot.epoch.store(now, std::memory_order_seq_cst);
  } else {
    slot.epoch.store(now, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
#endif
}

inline void unpin(EpochSlot& slot) noexcept { slot.epoch.store(0, std::memory_order_release); }

// Hands over an object that has just been unpublished; `free` runs on the reclaimer thread after
// the grace period. Any thread; never waits.
void retire(void* object, void (*free)(void*));

// Waits until everything retired before the call has been freed. Raises FAILED_PRECONDITION on a
// pinned thread, which would wait for itself.
void synchronize();

struct Blame {
  int64_t thread_id;
  const void* holder;
  uint64_t epochs_behind;
};

// The threads pinned now, oldest pin first.
std::vector<Blame> pinned_threads();

// Objects retired and not yet freed.
size_t pending() noexcept;

}  // namespace epoch
}  // namespace opyard
