#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opyard/plugin/host.h"

namespace opyard::bench {

// The CPU plugin and a small one (one operator), active in their slots, and builds of them: copies
// of their files, each with its own bytes behind the end. Used by one thread.
class Slots {
 public:
  Slots();
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  enum Which : size_t { kCpu, kSmall };
  const std::string& name(Which slot) const { return slots_[slot].name; }
  // A file that was never loaded.
  std::string new_build(Which slot);
  // Two files in turns.
  const std::string& next_build(Which slot);
  // Exchanges the active build for the next; the old one ends at once.
  plugin::ChangeReport swap(Which slot);

  // Unloads both; false, with words on stderr, when some generation was not proved unmapped.
  bool all_ended();

 private:
  struct Slot {
    std::string name;
    std::string file;
    std::vector<std::string> turns;
    size_t turn = 0;
  };
  std::string folder_;
  Slot slots_[2];
  uint64_t builds_ = 0;
};

plugin::ChangeOptions change_options(bool probe, int64_t keep_warm_ms);

void register_changes(Slots& slots);
void register_callers(Slots& slots);

}  // namespace opyard::bench
