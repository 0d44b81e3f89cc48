#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

// Which build was active in a slot, and when: what callers' results are judged by.
namespace opyard::torture {

inline uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// What a call has seen: the build that answered (0: none, the operator was gone), and its time.
struct Seen {
  uint64_t build = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

// Written by the slot's controller, read by callers.
class History {
 public:
  // The controller says before a change that something may happen, and after it what is active now.
  void begin_change();
  void end_change(uint64_t build_now);

  // Odd while a change is under way.
  uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  struct Present {
    uint64_t version = 0;
    uint64_t build = 0;
    uint64_t ordinal = 0;
  };
  Present present() const;

  enum class Verdict { kRight, kWrong, kUndecided };
  // Whether the build was active at some time of the call, not before the stay number *ordinal of a
  // build in the slot; that becomes the first such stay. Undecided while a change is under way that
  // may have brought it.
  Verdict judge(const Seen& seen, uint64_t* ordinal) const;

 private:
  struct Stay {
    uint64_t build;
    uint64_t ordinal;
    uint64_t from_ns;  // of the change that brought it: at the earliest
    uint64_t to_ns;    // end of the change that took it away: at the latest
  };
  static constexpr size_t kRemembered = 4096;

  std::atomic<uint64_t> version_{0};
  mutable std::mutex mutex_;  // guards what follows
  std::deque<Stay> stays_{{0, 0, 0, UINT64_MAX}};
  std::optional<uint64_t> changing_since_;
};

}  // namespace opyard::torture
