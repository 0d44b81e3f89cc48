#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "opyard/runtime/call_counts.h"
#include "tests/plugins/torture/history.h"

// What the threads of a torture share.
namespace opyard::torture {

inline constexpr const char* kSlots[] = {"torture_a", "torture_b", "torture_c"};
inline constexpr size_t kNumSlots = 3;
inline constexpr size_t kLeasingSlot = 1;  // whose results keep their generation

// What went wrong, each with the seed and the controllers' steps. Any thread.
class Failures {
 public:
  explicit Failures(uint64_t seed) : seed_(seed) {}
  void add(const std::string& text);
  bool any() const { return count_.load() > 0; }
  uint64_t count() const { return count_.load(); }
  // Told with every failure.
  std::atomic<uint64_t> steps[kNumSlots]{};

 private:
  const uint64_t seed_;
  std::atomic<uint64_t> count_{0};
  std::mutex mutex_;
};

// Holds threads back at a point where they hold nothing.
class Gate {
 public:
  // By a thread that passes by: waits while the gate is closed.
  void pass();
  bool is_closed() const { return closed_.load(std::memory_order_relaxed); }
  // By a thread that will not come again.
  void leave();
  // Returns when `threads` wait or have left.
  void close(size_t threads);
  void open();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> closed_{false};
  size_t waiting_ = 0;
};

struct RunState {
  explicit RunState(uint64_t seed) : failures(seed) {}
  Failures failures;
  Gate gate;
  History histories[kNumSlots];
  runtime::CallCounts counts;
  std::atomic<bool> stop{false};          // callers and watchers
  std::atomic<uint64_t> judged{0};        // results that were held against the history
  std::atomic<uint64_t> by_kind[6]{};     // calls
  std::atomic<uint64_t> gone{0};          // calls of an operator whose slot was empty
  std::atomic<uint64_t> tensors_kept{0};  // results that were held and then looked at
};

}  // namespace opyard::torture
