#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "opyard/core/tensor.h"
#include "opyard/plugin/host.h"
#include "tests/plugins/torture/builds.h"
#include "tests/plugins/torture/run_state.h"

namespace opyard::torture {

// What a slot's controller did, for the report.
struct Changes {
  uint64_t swaps = 0;
  uint64_t rollbacks = 0;
  uint64_t loads = 0;
  uint64_t unloads = 0;
  uint64_t refused_as_meant = 0;  // builds that fail to start
  uint64_t no_room = 0;           // generations that are kept by leases fill the slot
  uint64_t nothing_warm = 0;
  std::vector<uint64_t> publish_ns;

  uint64_t made() const { return swaps + rollbacks + loads + unloads; }
};

// Changes one slot by the dice of its seed. Used by one thread.
class Controller {
 public:
  Controller(RunState& state, size_t slot, const std::string& file, const std::string& folder,
             uint64_t seed);

  // At that step (0: never) the history is told another build than what is active.
  void lie_at(uint64_t step) { lie_at_ = step; }
  // Loads a sound build into the empty slot.
  void fill();
  // A change, or an attempt.
  void step();
  // Empties the slot, and gives up what is held.
  void empty();

  const Changes& changes() const { return changes_; }

 private:
  void take_step();
  void swap_to(const Builds::Build& build, const char* what);
  void swap_to_bad(torture_fault fault);
  void load(const Builds::Build& build);
  void unload();
  void roll_back();
  void hold_something();
  void arrived(const plugin::ChangeReport& report, uint64_t build);
  void failed(const char* what, const Error& error, std::initializer_list<Code> expected);
  plugin::ChangeOptions options();
  Builds::Build sound_build();
  bool chance(uint64_t percent) { return random_() % 100 < percent; }

  RunState& state_;
  const size_t slot_;
  const std::string name_;
  Builds builds_;
  std::mt19937_64 random_;
  std::vector<Builds::Build> earlier_;     // files that are still there
  std::map<uint64_t, uint64_t> build_of_;  // by the generation's number
  uint64_t active_ = 0;                    // build
  uint64_t steps_ = 0;
  uint64_t lie_at_ = 0;
  std::vector<Tensor> held_;  // results that outlive their generation's stay
  Changes changes_;
};

}  // namespace opyard::torture
