#pragma once

#include <deque>

#include "tests/plugins/torture/run_state.h"

namespace opyard::torture {

// Holds what one thread sees against the slots' histories. Used by that thread.
class Judge {
 public:
  explicit Judge(RunState& state) : state_(state) {}

  // Before a call of the slot.
  void begin(size_t slot);
  // After it. What a change that is under way may have brought is decided later.
  void saw(size_t slot, const Seen& seen);
  void decide();

 private:
  struct View {
    History::Present present{UINT64_MAX, 0, 0};
    uint64_t ordinal = 0;
    std::deque<Seen> undecided;
  };
  void decide(size_t slot);

  RunState& state_;
  View views_[kNumSlots];
};

// The number in "told to fail by build 17"; 0 when there is none.
uint64_t build_in(const std::string& message);

}  // namespace opyard::torture
