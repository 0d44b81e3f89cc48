// The group `swap`: what a change of a plugin takes, and what callers notice of it.
#include <benchmark/benchmark.h>

#include <cstdio>

#include "opyard/base/error.h"
#include "opyard/plugin/host.h"
#include "opyard/runtime/initialize.h"
#include "slots.h"

int main(int argc, char** argv) {
  try {
    opyard::initialize();
    opyard::bench::Slots slots;
    opyard::bench::register_changes(slots);
    opyard::bench::register_callers(slots);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return slots.all_ended() ? 0 : 1;
  } catch (const opyard::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
