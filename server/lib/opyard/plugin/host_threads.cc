// Host extension opyard.threads: threads of the host that run a plugin's work.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/base/no_destructor.h"
#include "opyard/plugin/host_extensions.h"
#include "opyard/plugin/host_table.h"

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
  static Pool& global() {
    static NoDestructor<Pool> pool;
    return *pool;
  }

  void submit(const Task& task) {
    const std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size()) {
      OPYARD_CHECK(threads_ < kMostThreads, kResourceExhausted, "all ", kMostThreads,
                   " threads that the host has for plugins are at work");
      std::thread([this] { work(); }).detach();
      ++threads_;
      ++idle_;  // as good as: it takes the next task
    }
    tasks_.push_back(task);
    come_.notify_one();
  }

 private:
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

  static void run(const Task& task) {
    try {
      task.function(task.argument);
    } catch (...) {
      log(LogLevel::kError, str_cat("a plugin's function on a host thread let an exception out: ",
                                    current_error().message()));
    }
    task.leases->release(LeaseKind::kCallback);  // from here on the plugin may be gone
  }

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
    } catch (const std::system_error& error) {
      leases.release(LeaseKind::kCallback);
      raise(Code::kResourceExhausted, str_cat("no thread can be started: ", error.what()));
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
