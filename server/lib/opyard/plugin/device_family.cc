#include "opyard/plugin/device_family.h"

#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "opyard/base/epoch.h"
#include "opyard/base/no_destructor.h"
#include "opyard/plugin/device_runtime.h"

namespace opyard::plugin {

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
}

void DeviceFamily::remove(DeviceRuntime& runtime) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = members_.find(&runtime);
  if (found == members_.end()) return;
  left_.wait(lock, [&] { return found->second.waited_for == 0; });
  settle(found->second);
  members_.erase(found);
}

void DeviceFamily::wait_for_others(const DeviceRuntime* except) {
  struct Other {
    DeviceRuntime* runtime;
    bool calls_were_over;
    bool done = false;
  };
  std::vector<Other> others;
  {
    const std::lock_guard lock(mutex_);
    others.reserve(members_.size());
    for (auto& [runtime, member] : members_) {
      if (runtime == except || member.phase == Phase::kSettled) continue;
      ++member.waited_for;
      others.push_back({runtime, member.calls_are_over && member.calls_are_over->load()});
    }
  }
  std::exception_ptr failure;
  for (Other& other : others) {
    try {
      other.runtime->wait_for_devices();
      other.done = true;
    } catch (...) {
      failure = std::current_exception();
    }
  }
  {
    const std::lock_guard lock(mutex_);
    for (const Other& other : others) {
      Member& member = members_[other.runtime];
      --member.waited_for;
      if (other.done && other.calls_were_over) settle(member);
    }
  }
  left_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace opyard::plugin
