#pragma once

#include <ostream>
#include <string_view>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/plugin/host.h"

namespace opyard::zoo {

using plugin::State;

// What `opyard-worker lint` says.
struct Lint {
  bool fit = true;
  std::string_view says = {};
};

// How a life in a process of its own ends, and what is said about it: the problem, why it stayed
// mapped, or what it left.
enum class Life { kClean, kStays, kLeaves, kFails, kHangs };
struct Probe {
  Life life = Life::kClean;
  std::string_view says = {};
};

// What comes of taking it into a process under traffic.
struct Load {
  Code code = Code::kOk;
  std::string_view says = {};
  bool probed = false;         // only after a probe: it would take the process with it
  bool leaves_things = false;  // threads or descriptors, although it was refused
};

// What a call of its kernel brings: not called unless a code is given here.
struct Call {
  enum class What { kNothing, kNumber, kTensor, kHangs };
  What what = What::kNothing;
  Code code = Code::kOk;
  std::string_view says = {};
};

// How it ends in the process. `says`: of why_not_unloaded, or of the warnings that it got.
struct End {
  State state = State::kClosed;
  std::string_view says = {};
};

// One animal: the file NAME.so and its verdicts. What is left out is harmless there.
struct Animal {
  std::string_view name;
  Lint lint = {};
  Probe probe = {};
  Load load = {};
  Call call = {};
  End end = {};
};

// For GoogleTest.
inline void PrintTo(const Animal& animal, std::ostream* out) { *out << animal.name; }

const std::vector<Animal>& animals();
std::vector<Animal> table_animals();  // tables.cc: a part of them

// What a check of `opyard plugin validate` says about an animal: nothing, or why it does not pass.
struct Checked {
  std::string_view check;
  std::string_view animal;
  std::string_view says = {};
};
inline void PrintTo(const Checked& checked, std::ostream* out) {
  *out << checked.check << " of " << checked.animal;
}
const std::vector<Checked>& checked_animals();

}  // namespace opyard::zoo
