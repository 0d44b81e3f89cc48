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
// readers store sequentially consistently instead (kAttentionFenced).

namespace opyard {

// One reader thread's mark, a cache line of its own. Written by its thread only.
struct alignas(64) EpochSlot {
  std::atomic<uint64_t> epoch{0};            // 0: not pinned
  std::atomic<const char*> holder{nullptr};  // what a pinned thread is in, for reports
  std::atomic<uint64_t> seen_epoch{0};       // by the reclaimer, the first time …
  std::atomic<uint64_t> seen_ns{0};          // … at this time of the steady clock
  std::atomic<int64_t> thread_id{0};         // kernel thread id; 0: the slot is free
  EpochSlot** cache = nullptr;               // the owner's pointer to this slot
  EpochSlot* next = nullptr;                 // all slots; never unlinked
};

// What calls ask about before they take the fast path; 0 nearly always.
enum Attention : uint32_t {
  kAttentionFenced = 1,    // readers need a full fence of their own
  kAttentionObserved = 2,  // somebody watches calls
};

// What a pin reads. One exported object; a cache line that only writers write.
struct alignas(64) EpochDomain {
  std::atomic<uint64_t> now{1};
  std::atomic<uint32_t> attention{kAttentionFenced};
};

extern EpochDomain epoch_domain;

namespace epoch {

// Finds or makes a slot for this thread and stores it in *cache, which must live as long as the
// thread. When the thread ends the slot is given back and *cache cleared.
EpochSlot* acquire_slot(EpochSlot** cache);

// `attention` is what the caller has read from the domain.
inline void pin(EpochSlot& slot, uint32_t attention) noexcept {
  const uint64_t now = epoch_domain.now.load(std::memory_order_acquire);
#if defined(OPYARD_EPOCH_SEQ_CST)
  (void)attention;
  slot.epoch.store(now, std::memory_order_seq_cst);
#else
  if (attention & kAttentionFenced) [[unlikely]] {
    slot.epoch.store(now, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    slot.epoch.store(now, std::memory_order_release);  // whoever sees the pin sees its holder
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
#endif
}

inline void unpin(EpochSlot& slot) noexcept { slot.epoch.store(0, std::memory_order_release); }

// Hands over an object that has just been unpublished; `free` runs on the reclaimer thread after
// the grace period. `bytes` is what it holds. Any thread; never waits.
void retire(void* object, void (*free)(void*), size_t bytes = 0);

// Starts the reclaimer, so that retire() cannot fail for want of a thread.
void start();

// Bytes retired and not yet freed, and how many there may be before registration is refused.
size_t retired_bytes() noexcept;
size_t retired_bound() noexcept;
void set_retired_bound(size_t bytes) noexcept;

// Waits until everything retired before the call has been freed. Raises FAILED_PRECONDITION on a
// pinned thread, which would wait for itself.
void synchronize();

// A pinned thread: what it is in, and for how long at least (as the reclaimer has seen it).
struct Blame {
  int64_t thread_id;
  const char* holder;  // null: a frame; valid while the asking thread is pinned itself
  uint64_t epochs_behind;
  uint64_t age_ns;
};

// The threads pinned now, oldest pin first.
std::vector<Blame> pinned_threads();

// Objects retired and not yet freed.
size_t pending() noexcept;

}  // namespace epoch
}  // namespace opyard
