#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace opyard::runtime {

// Something that happens once, and those who want to know. Any thread.
class OnceSignal {
 public:
  using Callback = std::function<void()>;

  // Calls back on the thread that fires, or at once on this one if it has been fired.
  uint64_t watch(Callback callback) {
    {
      const std::lock_guard lock(mutex_);
      if (!fired_) {
        watchers_.emplace(next_, std::move(callback));
        return next_++;
      }
    }
    callback();
    return 0;
  }

  // No call begins after this returns; one that has begun may still be under way.
  void unwatch(uint64_t watcher) {
    const std::lock_guard lock(mutex_);
    watchers_.erase(watcher);
  }

  // False when it had been fired before.
  bool fire() {
    std::map<uint64_t, Callback> watchers;
    {
      const std::lock_guard lock(mutex_);
      if (fired_) return false;
      fired_ = true;
      watchers.swap(watchers_);
    }
    for (const auto& [number, callback] : watchers) callback();
    return true;
  }

  bool fired() const {
    const std::lock_guard lock(mutex_);
    return fired_;
  }

 private:
  mutable std::mutex mutex_;
  bool fired_ = false;                     // guarded by mutex_
  std::map<uint64_t, Callback> watchers_;  // guarded by mutex_
  uint64_t next_ = 1;                      // guarded by mutex_
};

}  // namespace opyard::runtime
