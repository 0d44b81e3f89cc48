#pragma once

#include <random>

#include "tests/plugins/torture/run_state.h"

namespace opyard::torture {

// Until state.stop: checks the conservation rule again and again; asks the host for everything
// that it shows; turns the counting of hits and observers on and off.
void watch(RunState& state, uint64_t seed);

}  // namespace opyard::torture
