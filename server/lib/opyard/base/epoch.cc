#include "opyard/base/epoch.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "opyard/base/error.h"
#include "opyard/base/no_destructor.h"

namespace opyard {

EpochDomain epoch_domain;

namespace epoch {
namespace {

struct Retired {
  void* object;
  void (*free)(void*);
  size_t bytes;
  uint64_t epoch;
};

// 64 MiB: some 25,000 tables.
std::atomic<size_t> bound{size_t{64} << 20};
std::atomic<size_t> bytes_waiting{0};

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::atomic<EpochSlot*> all_slots{nullptr};

void give_back_slot(void* slot_pointer) {
  auto* slot = static_cast<EpochSlot*>(slot_pointer);
  slot->epoch.store(0, std::memory_order_release);
  slot->holder.store(nullptr, std::memory_order_relaxed);
  *slot->cache = nullptr;
  slot->thread_id.store(0, std::memory_order_release);
}

pthread_key_t slot_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, give_back_slot);
    return made;
  }();
  return key;
}

bool register_membarrier() {
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

// After this, every reader either shows its pin or sees what was published before. False when that
// could not be had; nothing may be freed then.
bool order_readers() {
  if (epoch_domain.attention.load() & kAttentionFenced) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return true;
  }
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// The oldest epoch that some thread is pinned in; UINT64_MAX when none is.
uint64_t oldest_pin() {
  uint64_t oldest = UINT64_MAX;
  for (EpochSlot* slot = all_slots.load(std::memory_order_acquire); slot; slot = slot->next) {
    const uint64_t epoch = slot->epoch.load(std::memory_order_seq_cst);
    if (epoch == 0) continue;
    oldest = std::min(oldest, epoch);
    if (slot->seen_epoch.exchange(epoch) != epoch) slot->seen_ns = now_ns();
  }
  return oldest;
}

// How long the reclaimer waits between looks at a pin that holds it back.
constexpr std::chrono::microseconds kShortestWait{200};
constexpr std::chrono::microseconds kLongestWait{10000};

class Reclaimer {
 public:
  void start() {
    std::lock_guard lock(mutex_);
    if (started_) return;
    std::thread([this] { run(); }).detach();
    started_ = true;
  }

  void retire(void* object, void (*free)(void*), size_t bytes) {
    start();
    std::lock_guard lock(mutex_);
    bytes_waiting += bytes;
    const uint64_t epoch = epoch_domain.now.fetch_add(1, std::memory_order_seq_cst) + 1;
    queue_.push_back({object, free, bytes, epoch});
    wake_.notify_one();
  }

  void synchronize() {
    std::unique_lock lock(mutex_);
    const uint64_t target = epoch_domain.now.load(std::memory_order_seq_cst);
    freed_.wait(lock,
                [&] { return freeing_ == 0 && (queue_.empty() || queue_.front().epoch > target); });
  }

  size_t pending() {
    std::lock_guard lock(mutex_);
    return queue_.size() + freeing_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    std::chrono::microseconds wait = kShortestWait;
    for (;;) {
      wake_.wait(lock, [&] { return !queue_.empty(); });
      // Only what waits by now: the look at the pins says nothing of what is retired after it.
      const uint64_t newest = queue_.back().epoch;
      lock.unlock();
      const uint64_t oldest = order_readers() ? oldest_pin() : 0;
      lock.lock();
      if (free_before(std::min(oldest, newest), lock) > 0) {
        wait = kShortestWait;
        continue;
      }
      lock.unlock();
      std::this_thread::sleep_for(wait);
      wait = std::min(2 * wait, kLongestWait);
      lock.lock();
    }
  }

  size_t free_before(uint64_t oldest, std::unique_lock<std::mutex>& lock) {
    size_t freed = 0;
    while (!queue_.empty() && queue_.front().epoch <= oldest) {
      const Retired item = queue_.front();
      queue_.pop_front();
      freeing_ = 1;
      lock.unlock();
      item.free(item.object);
      bytes_waiting -= item.bytes;
      lock.lock();
      freeing_ = 0;
      ++freed;
    }
    freed_.notify_all();
    return freed;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable freed_;
  std::deque<Retired> queue_;
  size_t freeing_ = 0;
  bool started_ = false;
};

Reclaimer& reclaimer() {
  static NoDestructor<Reclaimer> instance;
  return *instance;
}

}  // namespace

EpochSlot* acquire_slot(EpochSlot** cache) {
  const auto self = static_cast<int64_t>(syscall(SYS_gettid));
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
  pthread_setspecific(slot_key(), slot);
  return slot;
}

void retire(void* object, void (*free)(void*), size_t bytes) {
  reclaimer().retire(object, free, bytes);
}

void start() { reclaimer().start(); }

size_t retired_bytes() noexcept { return bytes_waiting.load(); }
size_t retired_bound() noexcept { return bound.load(); }
void set_retired_bound(size_t bytes) noexcept { bound.store(bytes); }

void synchronize() {
  const auto* mine = static_cast<const EpochSlot*>(pthread_getspecific(slot_key()));
  if (mine && mine->epoch.load() != 0) {
    raise(Code::kFailedPrecondition,
          "synchronize() was called from within an operator call; it would wait for itself");
  }
  reclaimer().synchronize();
}

std::vector<Blame> pinned_threads() {
  std::vector<Blame> blames;
  const uint64_t now = epoch_domain.now.load();
  for (EpochSlot* slot = all_slots.load(std::memory_order_acquire); slot; slot = slot->next) {
    const uint64_t epoch = slot->epoch.load();
    if (epoch == 0) continue;
    const uint64_t age = slot->seen_epoch.load() == epoch ? now_ns() - slot->seen_ns.load() : 0;
    blames.push_back({slot->thread_id.load(), slot->holder.load(), now - epoch, age});
  }
  std::sort(blames.begin(), blames.end(),
            [](const Blame& a, const Blame& b) { return a.epochs_behind > b.epochs_behind; });
  return blames;
}

size_t pending() noexcept { return reclaimer().pending(); }

}  // namespace epoch
}  // namespace opyard
