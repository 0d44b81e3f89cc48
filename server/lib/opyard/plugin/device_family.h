#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "opyard/base/error.h"
#include "opyard/core/dispatch_key.h"

namespace opyard::plugin {

class DeviceRuntime;

// The runtimes of one backend, one of which is published, and the order of their work: each has
// streams of its own that know nothing of the others'. A call on a new generation may read what a
// call before has left queued on an old one, so around a change everybody waits for all others.
// Once the calls from before are over and their work is done or has failed, only the published one
// has work that nobody waits for. Any thread.
//
// What a leaving one tells of work that failed is for those who use its memory; the others go on,
// and the log says it. A leaving one that does not come to an end holds up users of its own memory
// as long as that takes, and others for the patience, once.
class DeviceFamily {
 public:
  static DeviceFamily& of(Backend backend);

  // New memory comes from this one. Before its kernels are published.
  void publish(DeviceRuntime& runtime);
  // Its kernels have gone, and so has its memory, unless another one is published already.
  void withdraw(DeviceRuntime& runtime) noexcept;
  // Waits until no function of it is called from here.
  void remove(DeviceRuntime& runtime) noexcept;
  // No kernel of it runs, and its streams are empty or will not be.
  void settled(DeviceRuntime& runtime) noexcept;

  // Several may have work under way; read before every use of a device's memory.
  bool is_mixed() const noexcept { return unsettled_.load(std::memory_order_acquire) > 0; }
  // Until the others have done what was queued before the call. `server` serves the memory that is
  // going to be used, and is kept by the caller; what is left on its own streams is waited for
  // unless `in_order`. Not on a thread of a plugin. Raises what `server` tells of work that failed.
  void wait_for_others(const DeviceRuntime& server, bool in_order);

  // How long users of other memory wait for one that is leaving.
  void set_patience(std::chrono::milliseconds patience) noexcept { patience_.store(patience); }

 private:
  enum class Phase { kPublished, kLeaving, kSettled };
  // Waits for one runtime on a thread of its own, in rounds that many callers share. Guarded by
  // mutex_; the thread keeps it.
  struct Rounds {
    uint64_t wanted = 0;
    uint64_t begun = 0;
    uint64_t done = 0;
    bool has_thread = false;
    bool removed = false;            // the runtime is gone
    bool late = false;               // the round under way has outlasted somebody's patience
    std::atomic<bool> told{false};   // the log knows of the failure
    std::optional<Error> failure{};  // of the last round
  };
  struct Member {
    Phase phase = Phase::kPublished;
    std::shared_ptr<std::atomic<bool>> calls_are_over{};  // of one that is leaving
    int waited_for = 0;                                   // by so many threads
    std::shared_ptr<Rounds> rounds = std::make_shared<Rounds>();
  };
  using Lock = std::unique_lock<std::mutex>;

  void let_leave(DeviceRuntime& runtime, Member& member) noexcept;
  void mark_calls(Member& member) noexcept;
  void settle(Member& member) noexcept;
  void wait_here(Lock& lock, DeviceRuntime& runtime, bool serves);
  void wait_aside(Lock& lock, DeviceRuntime& runtime, bool serves);
  void start_rounds(DeviceRuntime& runtime, const std::shared_ptr<Rounds>& rounds);
  void run_rounds(DeviceRuntime& runtime, Rounds& rounds) noexcept;

  std::atomic<int> unsettled_{0};
  std::atomic<std::chrono::milliseconds> patience_{std::chrono::milliseconds(5000)};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<DeviceRuntime*, Member> members_;
  DeviceRuntime* published_ = nullptr;
};

}  // namespace opyard::plugin
