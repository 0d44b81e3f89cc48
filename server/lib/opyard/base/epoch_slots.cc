// The readers' side of the epoch: slots, the order between readers and the reclaimer, who is
// pinned.

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "opyard/base/reclaim.h"

namespace opyard {

EpochDomain epoch_domain;

namespace epoch {
namespace {

std::atomic<EpochSlot*> all_slots{nullptr};

int64_t this_thread_id() noexcept { return static_cast<int64_t>(syscall(SYS_gettid)); }

uint64_t now_ns() noexcept {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

template <typename Visit>
void each_slot(Visit visit) {
  for (EpochSlot* slot = all_slots.load(std::memory_order_acquire); slot; slot = slot->next) {
    visit(*slot);
  }
}

void free_slot(EpochSlot& slot) noexcept {
  slot.epoch.store(0, std::memory_order_release);
  slot.holder.store(nullptr, std::memory_order_relaxed);
  slot.thread_id.store(0, std::memory_order_release);
}

// Runs after the thread's C++ destructors; a call from a later destructor takes a slot again.
void give_back_slot(void* slot_pointer) {
  auto* slot = static_cast<EpochSlot*>(slot_pointer);
  *slot->cache = nullptr;
  free_slot(*slot);
}

// Without a key (the process has used up all of them) a dead thread's slot stays taken, unpinned.
struct SlotKey {
  pthread_key_t key{};
  const bool made = pthread_key_create(&key, give_back_slot) == 0;
};

void give_back_at_thread_end(EpochSlot* slot) {
  static const SlotKey key;
  if (key.made) pthread_setspecific(key.key, slot);
}

bool register_membarrier() noexcept {
#if defined(OPYARD_EPOCH_SEQ_CST)
  return false;
#else
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

[[maybe_unused]] const bool membarrier_ready = [] {
  const bool ready = register_membarrier();
  if (ready) epoch_domain.attention.fetch_and(~uint32_t{kAttentionFenced});
  return ready;
}();

// After this, every reader either shows its pin or sees what was published before.
bool order_readers() noexcept {
  if (epoch_domain.attention.load() & kAttentionFenced) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return true;
  }
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// Only a pin from before the newest epoch is marked: when it ends, the thread cannot take another
// one of the same epoch, so the age is never that of an earlier pin.
void mark_seen(EpochSlot& slot, uint64_t epoch) noexcept {
  if (epoch >= epoch_domain.now.load() || slot.seen_epoch.load() == epoch) return;
  slot.seen_ns.store(now_ns());
  slot.seen_epoch.store(epoch);
}

}  // namespace

EpochSlot* acquire_slot(EpochSlot** cache) {
  const int64_t self = this_thread_id();
  EpochSlot* slot = all_slots.load(std::memory_order_acquire);
  for (; slot; slot = slot->next) {
    int64_t free = 0;
    if (slot->thread_id.compare_exchange_strong(free, self)) break;
  }
  if (!slot) {
    slot = new EpochSlot;
    slot->thread_id.store(self);
    slot->next = all_slots.load();
    while (!all_slots.compare_exchange_weak(slot->next, slot)) {
    }
  }
  slot->cache = cache;
  *cache = slot;
  give_back_at_thread_end(slot);
  return slot;
}

uint64_t look_at_pins() noexcept {
  if (!order_readers()) return 0;
  uint64_t oldest = UINT64_MAX;
  each_slot([&](EpochSlot& slot) {
    const uint64_t epoch = slot.epoch.load(std::memory_order_seq_cst);
    if (epoch == 0) return;
    oldest = std::min(oldest, epoch);
    mark_seen(slot, epoch);
  });
  return oldest;
}

bool pinned_here() noexcept {
  const int64_t self = this_thread_id();
  bool pinned = false;
  each_slot([&](const EpochSlot& slot) {
    pinned |= slot.thread_id.load() == self && slot.epoch.load() != 0;
  });
  return pinned;
}

void keep_only_slot_of(int64_t parent_thread_id) noexcept {
  const int64_t self = this_thread_id();
  each_slot([&](EpochSlot& slot) {
    if (slot.thread_id.load() == parent_thread_id) {
      slot.thread_id.store(self);
    } else {
      free_slot(slot);
    }
  });
}

std::vector<Blame> pinned_threads() {
  std::vector<Blame> blames;
  each_slot([&](const EpochSlot& slot) {
    const uint64_t epoch = slot.epoch.load();
    if (epoch == 0) return;
    const uint64_t age = slot.seen_epoch.load() == epoch ? now_ns() - slot.seen_ns.load() : 0;
    const uint64_t behind = epoch_domain.now.load() - epoch;  // `now` last: it is not before epoch
    blames.push_back({slot.thread_id.load(), slot.holder.load(), behind, age});
  });
  std::sort(blames.begin(), blames.end(),
            [](const Blame& a, const Blame& b) { return a.epochs_behind > b.epochs_behind; });
  return blames;
}

}  // namespace epoch
}  // namespace opyard
