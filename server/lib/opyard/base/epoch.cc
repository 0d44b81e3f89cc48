// The reclaimer: one thread that frees what was retired, after its grace period.

#include "opyard/base/epoch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "opyard/base/error.h"
#include "opyard/base/no_destructor.h"
#include "opyard/base/reclaim.h"

namespace opyard::epoch {

bool RetiredQueue::take(Retired* item) noexcept {
  if (looked_at_ == 0 || items_.front().epoch > oldest_pin_) return false;
  *item = items_.front();
  items_.pop_front();
  --looked_at_;
  taken_ = item->epoch;
  return true;
}

namespace {

// 64 MiB: some 25,000 tables.
std::atomic<size_t> bound{size_t{64} << 20};
std::atomic<size_t> bytes_waiting{0};

// How long the reclaimer waits between looks at a pin that holds it back.
constexpr std::chrono::microseconds kShortestWait{200};
constexpr std::chrono::microseconds kLongestWait{10000};

// Signals are for the threads of the host: none may be delivered to one of ours.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

class Reclaimer {
 public:
  Reclaimer() {
    // The child of a fork has no reclaimer thread and no other readers.
    pthread_atfork([] { instance().before_fork(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().after_fork_in_child(); });
  }

  static Reclaimer& instance() {
    static NoDestructor<Reclaimer> reclaimer;
    return *reclaimer;
  }

  void start() {
    std::lock_guard lock(mutex_);
    start_locked();
  }

  void retire(void* object, void (*free)(void*), size_t bytes) {
    std::lock_guard lock(mutex_);
    start_locked();
    const uint64_t epoch = epoch_domain.now.fetch_add(1, std::memory_order_seq_cst) + 1;
    queue_.push({object, free, bytes, epoch});
    bytes_waiting += bytes;
    wake_.notify_one();
  }

  void synchronize() {
    std::unique_lock lock(mutex_);
    start_locked();
    const uint64_t target = epoch_domain.now.load(std::memory_order_seq_cst);
    freed_.wait(lock, [&] { return queue_.oldest_unfreed() > target; });
  }

  bool is_this_thread() {
    std::lock_guard lock(mutex_);
    return thread_ == std::this_thread::get_id();
  }

  size_t pending() {
    std::lock_guard lock(mutex_);
    return queue_.unfreed();
  }

 private:
  void start_locked() {
    if (started_) return;
    const SignalsBlocked blocked;
    std::thread([this] { run(); }).detach();
    started_ = true;
  }

  void run() {
    pthread_setname_np(pthread_self(), "opyard-reclaim");
    std::unique_lock lock(mutex_);
    thread_ = std::this_thread::get_id();
    std::chrono::microseconds wait = kShortestWait;
    for (;;) {
      wake_.wait(lock, [&] { return !queue_.empty(); });
      queue_.look(lock, look_at_pins);
      if (free_all(lock)) {
        wait = kShortestWait;
        continue;
      }
      lock.unlock();
      std::this_thread::sleep_for(wait);
      wait = std::min(2 * wait, kLongestWait);
      lock.lock();
    }
  }

  // False when there was nothing to free.
  bool free_all(std::unique_lock<std::mutex>& lock) {
    bool freed = false;
    for (Retired item{}; queue_.take(&item); freed = true) {
      taken_bytes_ = item.bytes;
      lock.unlock();
      item.free(item.object);
      lock.lock();
      bytes_waiting -= taken_bytes_;
      queue_.done();
    }
    freed_.notify_all();
    return freed;
  }

  void before_fork() {
    mutex_.lock();
    forking_thread_ = static_cast<int64_t>(syscall(SYS_gettid));
  }

  // An object that the parent was about to free is the child's no more.
  void after_fork_in_child() {
    keep_only_slot_of(forking_thread_);
    if (queue_.being_freed()) bytes_waiting -= taken_bytes_;
    queue_.done();
    new (&wake_) std::condition_variable;
    new (&freed_) std::condition_variable;
    thread_ = {};
    started_ = false;
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable freed_;
  RetiredQueue queue_;
  size_t taken_bytes_ = 0;
  std::thread::id thread_;
  int64_t forking_thread_ = 0;
  bool started_ = false;
};

}  // namespace

void retire(void* object, void (*free)(void*), size_t bytes) {
  Reclaimer::instance().retire(object, free, bytes);
}

void start() { Reclaimer::instance().start(); }

size_t retired_bytes() noexcept { return bytes_waiting.load(); }
size_t retired_bound() noexcept { return bound.load(); }
void set_retired_bound(size_t bytes) noexcept { bound.store(bytes); }

void synchronize() {
  if (pinned_here()) {
    raise(Code::kFailedPrecondition,
          "synchronize() was called from within an operator call; it would wait for itself");
  }
  if (Reclaimer::instance().is_this_thread()) {
    raise(Code::kFailedPrecondition,
          "synchronize() was called while something retired is being freed; it would wait for "
          "itself");
  }
  Reclaimer::instance().synchronize();
}

size_t pending() noexcept { return Reclaimer::instance().pending(); }

}  // namespace opyard::epoch
