#include "opyard/plugin/device_family.h"

#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/base/epoch.h"
#include "opyard/base/log.h"
#include "opyard/base/no_destructor.h"
#include "opyard/plugin/device_runtime.h"
#include "opyard/plugin/quiet_thread.h"

namespace opyard::plugin {

namespace {

// Its generation does not go on with its end. To be made before it is settled.
class Kept {
 public:
  explicit Kept(const DeviceRuntime& runtime) : leases_(runtime.leases()) {
    leases_.acquire(LeaseKind::kStream);
  }
  ~Kept() { leases_.release(LeaseKind::kStream); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  Leases& leases_;
};

std::optional<Error> failure_of(const DeviceRuntime& runtime) noexcept {
  try {
    runtime.wait_for_devices();
    return std::nullopt;
  } catch (...) {
    return current_error();
  }
}

void tell_late(const DeviceRuntime& runtime) noexcept {
  try {
    log(LogLevel::kError, str_cat(runtime.described(),
                                  " does not end the work that was queued before it was replaced; "
                                  "nobody but users of its memory waits for it now"));
  } catch (...) {  // no memory for the line
  }
}

void tell_lost(const Error& failure) noexcept {
  try {
    log(LogLevel::kError, str_cat("work that was queued on a device before its plugin was replaced "
                                  "has failed: ",
                                  failure.message()));
  } catch (...) {  // no memory for the line
  }
}

}  // namespace

DeviceFamily& DeviceFamily::of(Backend backend) {
  static NoDestructor<std::array<DeviceFamily, kNumBackends + 1>> families;
  return (*families)[static_cast<size_t>(backend)];
}

void DeviceFamily::publish(DeviceRuntime& runtime) {
  const std::lock_guard lock(mutex_);
  if (published_ == &runtime) return;
  Member& member = members_[&runtime];
  if (published_) let_leave(*published_, members_[published_]);
  settle(member);  // one that comes back
  member.phase = Phase::kPublished;
  published_ = &runtime;
  runtime.set_published(true);
}

void DeviceFamily::withdraw(DeviceRuntime& runtime) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(&runtime);
  if (found == members_.end()) return;
  if (published_ == &runtime) {
    let_leave(runtime, found->second);
    published_ = nullptr;
  }
  if (found->second.phase == Phase::kLeaving && !found->second.calls_are_over) {
    mark_calls(found->second);
  }
}

void DeviceFamily::let_leave(DeviceRuntime& runtime, Member& member) noexcept {
  runtime.set_published(false);
  member.phase = Phase::kLeaving;
  member.calls_are_over = nullptr;
  member.rounds->told = false;
  member.rounds->late = false;
  unsettled_.fetch_add(1, std::memory_order_release);
}

// A mark behind the calls that may still queue work on it.
void DeviceFamily::mark_calls(Member& member) noexcept {
  using Flag = std::shared_ptr<std::atomic<bool>>;
  try {
    const auto over = std::make_shared<std::atomic<bool>>(false);
    auto flag = std::make_unique<Flag>(over);
    epoch::retire(flag.get(), [](void* object) {
      const std::unique_ptr<Flag> flag(static_cast<Flag*>(object));
      (*flag)->store(true, std::memory_order_release);
    });
    static_cast<void>(flag.release());
    member.calls_are_over = over;
  } catch (...) {  // no memory: it is waited for until settled()
  }
}

void DeviceFamily::settle(Member& member) noexcept {
  if (member.phase != Phase::kLeaving) return;
  member.phase = Phase::kSettled;
  unsettled_.fetch_sub(1, std::memory_order_release);
}

void DeviceFamily::settled(DeviceRuntime& runtime) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(&runtime);
  if (found != members_.end()) settle(found->second);
  changed_.notify_all();
}

void DeviceFamily::remove(DeviceRuntime& runtime) noexcept {
  Lock lock(mutex_);
  const auto found = members_.find(&runtime);
  if (found == members_.end()) return;
  const std::shared_ptr<Rounds> rounds = found->second.rounds;
  rounds->removed = true;
  settle(found->second);
  changed_.notify_all();
  changed_.wait(lock, [&] { return found->second.waited_for == 0 && !rounds->has_thread; });
  members_.erase(found);
}

void DeviceFamily::wait_for_others(const DeviceRuntime& server, bool in_order) {
  std::vector<DeviceRuntime*> others;
  Lock lock(mutex_);
  others.reserve(members_.size());
  for (auto& [runtime, member] : members_) {
    if ((runtime != &server || !in_order) && member.phase != Phase::kSettled) {
      others.push_back(runtime);
    }
  }
  std::exception_ptr failure;
  for (DeviceRuntime* other : others) {
    const auto found = members_.find(other);
    if (found == members_.end()) continue;  // it has gone since
    Member& member = found->second;
    if (member.phase == Phase::kSettled) continue;
    ++member.waited_for;
    try {
      const auto wait =
          member.phase == Phase::kPublished ? &DeviceFamily::wait_here : &DeviceFamily::wait_aside;
      (this->*wait)(lock, *other, other == &server);
    } catch (...) {
      failure = std::current_exception();
    }
    --member.waited_for;
    changed_.notify_all();
  }
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

// The published one, on the caller's own thread: whoever uses the device depends on it.
void DeviceFamily::wait_here(Lock& lock, DeviceRuntime& runtime, bool serves) {
  const Kept kept(runtime);
  lock.unlock();
  const std::optional<Error> failure = failure_of(runtime);
  lock.lock();
  if (failure && serves) throw Error(*failure);
}

// One that is leaving, on a thread for that.
void DeviceFamily::wait_aside(Lock& lock, DeviceRuntime& runtime, bool serves) {
  Member& member = members_[&runtime];
  const std::shared_ptr<Rounds> rounds = member.rounds;
  if (rounds->late && !serves) return;
  const bool calls_were_over = member.calls_are_over && member.calls_are_over->load();
  if (!rounds->has_thread) start_rounds(runtime, rounds);
  const uint64_t mine = rounds->wanted = rounds->begun + 1;
  changed_.notify_all();
  const auto is_over = [&] {
    return rounds->done >= mine || member.phase == Phase::kSettled || rounds->removed;
  };
  if (serves) {
    changed_.wait(lock, is_over);
  } else if (!changed_.wait_for(lock, patience_.load(), is_over)) {
    if (std::exchange(rounds->late, true)) return;
    lock.unlock();
    tell_late(runtime);
    return lock.lock();
  }
  if (rounds->done < mine) return;
  if (calls_were_over) settle(member);
  if (rounds->failure && serves) throw Error(*rounds->failure);
}

void DeviceFamily::start_rounds(DeviceRuntime& runtime, const std::shared_ptr<Rounds>& rounds) {
  const auto run = [this, &runtime, rounds] { run_rounds(runtime, *rounds); };
  QuietThread("opyard-device", run).detach();
  rounds->has_thread = true;
}

// Ends when nothing was wanted for a while, or the runtime is going.
void DeviceFamily::run_rounds(DeviceRuntime& runtime, Rounds& rounds) noexcept {
  constexpr std::chrono::milliseconds kIdle{100};
  Lock lock(mutex_);
  while (changed_.wait_for(lock, kIdle,
                           [&] { return rounds.removed || rounds.wanted > rounds.begun; })) {
    if (rounds.removed) break;
    const uint64_t round = ++rounds.begun;
    std::optional<Error> failure;
    if (members_[&runtime].phase != Phase::kSettled) {
      const Kept kept(runtime);
      lock.unlock();
      failure = failure_of(runtime);
      if (failure && !rounds.told.exchange(true)) tell_lost(*failure);
      lock.lock();
    }
    rounds.done = round;
    rounds.late = false;
    rounds.failure = std::move(failure);
    changed_.notify_all();
  }
  rounds.has_thread = false;
  changed_.notify_all();
}

}  // namespace opyard::plugin
