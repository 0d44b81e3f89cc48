#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace opyard::runtime {

// Operator calls since the start.
struct CallTotals {
  uint64_t accepted = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;     // with an error of their own, poisoned arguments included
  uint64_t cancelled = 0;  // not started: their deadline had passed, or their frame broke off

  uint64_t ended() const noexcept { return completed + failed + cancelled; }
  uint64_t in_flight() const noexcept { return accepted - ended(); }
};

// The conservation rule of a yard: accepted = completed + failed + cancelled + in flight, at every
// instant, and nothing in flight once all is quiet.
//
// A call is accepted when its frame's turn in the session has come. What is refused before that (a
// frame too long, a full queue, a closed session, a deadline or cancellation of the whole frame, a
// daemon that drains) is told as the frame's own status, and none of its calls is accepted. Threads
// count in places of their own. Any thread.
class CallCounts {
 public:
  enum class End : uint8_t { kCompleted, kFailed, kCancelled };

  // By the thread that carries the calls out. Each call ends once, on the same thread.
  void accept(uint64_t calls) noexcept;
  void end(End how, uint64_t calls = 1) noexcept;

  // Ends are read before acceptances, so that never more calls have ended than were accepted; what
  // comes and goes during the read counts as in flight.
  CallTotals totals() const noexcept;

 private:
  static constexpr size_t kPlaces = 32;
  struct alignas(64) Place {
    std::atomic<uint64_t> accepted{0};
    std::array<std::atomic<uint64_t>, 3> ended{};
  };
  std::array<Place, kPlaces> places_;
};

// The calls of one frame: accepted on construction; what has not ended by the end of the object,
// because an error broke the frame off, is cancelled.
class AcceptedCalls {
 public:
  AcceptedCalls(CallCounts& counts, uint64_t calls) noexcept;
  AcceptedCalls(const AcceptedCalls&) = delete;
  AcceptedCalls& operator=(const AcceptedCalls&) = delete;
  ~AcceptedCalls();

  void end(CallCounts::End how) noexcept;

 private:
  CallCounts& counts_;
  uint64_t open_;
};

}  // namespace opyard::runtime
