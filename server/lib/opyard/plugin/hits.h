#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "opyard/dispatch/observer.h"

namespace opyard::plugin {

// Counts entries into plugins' kernels by generation, while somebody wants that. Any thread.
class HitCounter {
 public:
  HitCounter();
  void set_counting(bool on);
  struct Hits {
    uint64_t typed = 0;
    uint64_t boxed = 0;
  };
  Hits of(uint64_t generation) const noexcept;

 private:
  class Watcher;
  const std::shared_ptr<Watcher> watcher_;
  std::mutex mutex_;
  Observation observation_;  // guarded by mutex_
  bool counting_ = false;    // guarded by mutex_
};

}  // namespace opyard::plugin
