#pragma once

#include <benchmark/benchmark.h>

#include <string>

// Both sides of a row are Google Benchmark functions named "<row>/<subject>", so that one process
// runs them in turns.

namespace opyard::bench {

// The operators that calls go to do nothing, so that what is timed is the way there.
void register_opyard_calls();
void register_libtorch_calls();  // a no-op in a build without the peer

}  // namespace opyard::bench
