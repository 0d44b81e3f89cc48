#pragma once

#include <benchmark/benchmark.h>

// Each row of a group is measured once for every subject, as a Google Benchmark named
// "<row>/<subject>", so that one process runs them in turns. rows.yaml says what they mean.
// The time that counts is "CPU"; where a row is no time, the counter "value".

namespace opyard::bench {

void register_opyard_calls();
void register_opyard_registry();
void register_libtorch();  // in a build with the peer

}  // namespace opyard::bench
