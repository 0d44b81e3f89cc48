// What a change takes, by the host's own clock: each repetition makes a number of changes and gives
// one figure of them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>

#include "slots.h"

namespace opyard::bench {
namespace {

using plugin::ChangeReport;
using plugin::Host;

enum class Figure { kMedian, kMost };

double figure_of(std::vector<uint64_t> times, Figure figure) {
  std::sort(times.begin(), times.end());
  const uint64_t ns = figure == Figure::kMost ? times.back() : times[times.size() / 2];
  return static_cast<double>(ns) * 1e-9;
}

// Runs `change` so many times; `time` is what counts of its report.
void measure(benchmark::State& state, int changes, Figure figure,
             const std::function<ChangeReport()>& change, uint64_t ChangeReport::*time) {
  for (auto _ : state) {
    std::vector<uint64_t> times;
    for (int i = 0; i < changes; ++i) times.push_back(change().*time);
    state.counters["value"] = figure_of(times, figure);
  }
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->Iterations(1);
}

void register_publish(Slots& slots, Slots::Which slot, const std::string& subject, int changes) {
  for (const auto& [row, figure] :
       {std::pair("publish_median/", Figure::kMedian), std::pair("publish_most/", Figure::kMost)}) {
    add(row + subject, [&slots, slot, changes, figure = figure](benchmark::State& state) {
      measure(
          state, changes, figure, [&] { return slots.swap(slot); }, &ChangeReport::publish_ns);
    });
  }
}

// Into the empty slot; `file` is asked for before the slot is emptied.
void register_load(Slots& slots, Slots::Which slot, const std::string& name, int changes,
                   bool probe, bool cold) {
  add(name, [=, &slots](benchmark::State& state) {
    const std::string same = slots.next_build(slot);
    const auto change = [&] {
      const std::string file = cold ? slots.new_build(slot) : same;
      Host::global().unload(slots.name(slot));
      return Host::global().load(file, change_options(probe, 0));
    };
    if (probe && !cold) change();  // remembered from here on
    measure(state, changes, Figure::kMedian, change, &ChangeReport::total_ns);
  });
}

void register_rollback(Slots& slots, Slots::Which slot, const std::string& subject) {
  add("rollback/" + subject, [&slots, slot](benchmark::State& state) {
    Host::global().swap(slots.name(slot), slots.next_build(slot), change_options(false, 60'000));
    measure(
        state, 40, Figure::kMedian,
        [&] { return Host::global().rollback(slots.name(slot), change_options(false, 60'000)); },
        &ChangeReport::total_ns);
  });
}

}  // namespace

void register_changes(Slots& slots) {
  register_publish(slots, Slots::kCpu, "cpu", 30);
  register_publish(slots, Slots::kSmall, "small", 60);
  register_rollback(slots, Slots::kCpu, "cpu");
  register_rollback(slots, Slots::kSmall, "small");
  register_load(slots, Slots::kCpu, "load/cpu_unprobed", 7, false, false);
  register_load(slots, Slots::kCpu, "load/cpu_probed", 3, true, true);
  register_load(slots, Slots::kCpu, "load/cpu_remembered", 7, true, false);
  register_load(slots, Slots::kSmall, "load/small_unprobed", 15, false, false);
  register_load(slots, Slots::kSmall, "load/small_probed", 5, true, true);
  register_load(slots, Slots::kSmall, "load/small_remembered", 15, true, false);
}

}  // namespace opyard::bench
