// Host extension opyard.threads: threads of the host that run a plugin's work.
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/plugin/host_extensions.h"
#include "opyard/plugin/host_table.h"
#include "opyard/plugin/quiet_thread.h"

namespace opyard::plugin {
namespace {

constexpr size_t kMostThreads = 64;
constexpr std::chrono::seconds kIdle{10};

struct Task {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
  Leases* leases = nullptr;  // of the plugin whose function it is
};

// A thread for each task that runs; those that have nothing to do wait a while for the next. Tasks
// may wait for one another, so none waits for a thread.
class Pool {
 public:
  // The child of a fork has none of its parent's threads, so it gets a pool of its own.
  static Pool& global() {
    static std::atomic<Pool*> pool{nullptr};
    Pool* found = pool.load(std::memory_order_acquire);
    while (!found || found->process_ != getpid()) {
      auto made = std::unique_ptr<Pool>(new Pool);
      if (!pool.compare_exchange_strong(found, made.get())) continue;
      found = made.release();  // for ever; so is the parent's, which its threads may have locked
    }
    return *found;
  }

  void submit(const Task& task) {
    const std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size()) {
      OPYARD_CHECK(threads_ < kMostThreads, kResourceExhausted, "all ", kMostThreads,
                   " threads that the host has for plugins are at work");
      QuietThread("opyard-plugins", [this] { work(); }).detach();
      ++threads_;
      ++idle_;  // as good as: it takes the next task
    }
    tasks_.push_back(task);
    come_.notify_one();
  }

 private:
  Pool() = default;
  void work() {
    std::unique_lock lock(mutex_);
    while (come_.wait_for(lock, kIdle, [this] { return !tasks_.empty(); })) {
      const Task task = tasks_.front();
      tasks_.pop_front();
      --idle_;
      lock.unlock();
      run(task);
      lock.lock();
      ++idle_;
    }
    --idle_;
    --threads_;
  }

  // In a handler.
  static void tell_escaped() noexcept {
    try {
      log(LogLevel::kError, str_cat("a plugin's function on a host thread let an exception out: ",
                                    current_error().message()));
    } catch (...) {  // no memory for the line
    }
  }

  static void run(const Task& task) {
    try {
      task.function(task.argument);
    } catch (...) {
      tell_escaped();
    }
    task.leases->release(LeaseKind::kCallback);  // from here on the plugin may be gone
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable come_;
  std::deque<Task> tasks_;
  size_t threads_ = 0;
  size_t idle_ = 0;  // that wait, or will at once; each task in the queue has one of its own
};

int32_t submit(const opyard_host* host, void (*function)(void*), void* argument,
               opyard_status* status) {
  return guarded(status, [&] {
    OPYARD_CHECK(host != nullptr && function != nullptr, kInvalidArgument,
                 host ? "there is no function to run" : "the host is a null pointer");
    const HostTable& table = HostTable::of(host);
    OPYARD_CHECK(!table.stop_requested(), kFailedPrecondition,
                 "the plugin is coming to its end and starts nothing new");
    Leases& leases = table.leases();
    leases.acquire(LeaseKind::kCallback);
    try {
      Pool::global().submit({function, argument, &leases});
    } catch (...) {
      leases.release(LeaseKind::kCallback);
      throw;
    }
  });
}

uint8_t stop_requested(const opyard_host* host) {
  return host && HostTable::of(host).stop_requested();
}

}  // namespace

const opyard_threads kHostThreads = {sizeof(opyard_threads), 0, &submit, &stop_requested};

}  // namespace opyard::plugin
