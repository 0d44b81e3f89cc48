#pragma once

#include <bitset>
#include <cstdint>

#include "opyard/runtime/limits.h"

namespace opyard::runtime {

// Result ids: the high 16 bits name the stream, the low 48 are a number that grows.
using Id = uint64_t;

inline constexpr int kStreamShift = 48;

constexpr uint32_t stream_of(Id id) { return static_cast<uint32_t>(id >> kStreamShift); }
constexpr Id make_id(uint32_t stream, uint64_t number) {
  return (static_cast<Id>(stream) << kStreamShift) | number;
}

// Remembers which ids of one stream are used up, in constant space.
class IdGate {
 public:
  // `reorder`: a new id may lie up to limits.reorder_window below the highest one. Not for streams,
  // whose frames come in order.
  IdGate(uint32_t stream, bool reorder) : stream_(stream), reorder_(reorder) {}

  // Takes an id that has not been used. INVALID_ARGUMENT for id 0 or another stream's,
  // ALREADY_EXISTS for one that is used up (in an ordered stream: not above the last).
  void take(Id id);

 private:
  uint32_t stream_;
  bool reorder_;
  uint64_t highest_ = 0;
  // Bit n: the number highest_ - n is used. Only with reorder_.
  std::bitset<kLimits.reorder_window> used_;
};

}  // namespace opyard::runtime
