#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "opyard/core/dispatch_key.h"

namespace opyard::plugin {

class DeviceRuntime;

// The runtimes of one backend, one of which is published, and the order of their work: each has
// streams of its own that know nothing of the others'. A call on a new generation may read what a
// call before has left queued on an old one, so around a change everybody waits for all others.
// Once the calls from before are over and their work is done, only the published one has work that
// nobody waits for. Any thread.
class DeviceFamily {
 public:
  static DeviceFamily& of(Backend backend);

  // New memory comes from this one. Before its kernels are published.
  void publish(DeviceRuntime& runtime);
  // Its kernels have gone, and so has its memory, unless another one is published already.
  void withdraw(DeviceRuntime& runtime) noexcept;
  // Waits until nobody waits for its streams.
  void remove(DeviceRuntime& runtime) noexcept;
  // No kernel of it runs and its streams are empty.
  void settled(DeviceRuntime& runtime) noexcept;

  // Several may have work under way; read before every use of a device's memory.
  bool is_mixed() const noexcept { return unsettled_.load(std::memory_order_acquire) > 0; }
  // Until the others have done what was queued before the call. Not on a thread of a plugin. Raises
  // what a plugin tells of work that failed.
  void wait_for_others(const DeviceRuntime* except = nullptr);

 private:
  enum class Phase { kPublished, kLeaving, kSettled };
  struct Member {
    Phase phase = Phase::kPublished;
    std::shared_ptr<std::atomic<bool>> calls_are_over{};  // of one that is leaving
    int waited_for = 0;                                   // by so many threads
  };

  void let_leave(DeviceRuntime& runtime, Member& member) noexcept;
  void mark_calls(Member& member) noexcept;
  void settle(Member& member) noexcept;

  std::atomic<int> unsettled_{0};
  std::mutex mutex_;
  std::condition_variable left_;
  // Guarded by mutex_.
  std::map<DeviceRuntime*, Member> members_;
  DeviceRuntime* published_ = nullptr;
};

}  // namespace opyard::plugin
