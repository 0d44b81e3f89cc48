// What callers notice: of a swap, and of the pin that makes it possible.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/ops/add.h"
#include "slots.h"

namespace opyard::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Inputs {
  Tensor a = make_tensor({4}, ScalarType::kFloat32);
  Tensor b = make_tensor({4}, ScalarType::kFloat32);
};

// An operator that does nothing, so that what is measured is the way to it.
void nothing(const Tensor&, const Tensor&) {}
constinit const OpHandle<void(const Tensor&, const Tensor&)> none2(
    "swap_bench::none2(Tensor a, Tensor b) -> ()");

Registration register_operator() {
  Dispatcher& dispatcher = Dispatcher::global();
  Registration made =
      dispatcher.register_block(BlockKind::kDef, "swap_bench", "", [](Library& library) {
        library.def("none2(Tensor a, Tensor b) -> ()");
        library.impl("none2", DispatchKey::CPU, OPYARD_FN(nothing));
      });
  const std::vector<const OpHandleBase*> handles{&none2};
  dispatcher.bind_handles(handles);
  return made;
}

void call_pinned(benchmark::State& state) {
  const Inputs in;
  for (auto _ : state) none2(in.a, in.b);
}

// The same table, looked up once under a pin that is held all the time: what a process that never
// takes a kernel away could do.
void call_unpinned(benchmark::State& state) {
  const Inputs in;
  const PinnedRoot pin;
  const Root* root = &pin.root();
  for (auto _ : state) {
    benchmark::DoNotOptimize(root);
    const Keys keys = call_keys(root->table(none2.index), in.a, in.b);
    invoke_unobserved<void, const Tensor&, const Tensor&>(keys, in.a, in.b);
  }
}

// Calls of aten::add for a while; their times, sorted.
std::vector<uint32_t> call_for(std::chrono::milliseconds time, bool* wrong) {
  const Inputs in;
  std::fill_n(in.a.data<float>(), 4, 1.0f);
  std::fill_n(in.b.data<float>(), 4, 2.0f);
  std::vector<uint32_t> times;
  times.reserve(1 << 22);
  const Clock::time_point end = Clock::now() + time;
  Clock::time_point before = Clock::now();
  while (before < end && times.size() < times.capacity()) {
    const Tensor sum = ops::add(in.a, in.b);
    const Clock::time_point after = Clock::now();
    times.push_back(static_cast<uint32_t>((after - before).count()));
    *wrong |= sum.data<const float>()[3] != 3.0f;
    before = Clock::now();
  }
  std::sort(times.begin(), times.end());
  return times;
}

double share(const std::vector<uint32_t>& times, double part) {
  return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))] * 1e-9;
}

// With a thread that swaps the CPU plugin without a pause, or beside none.
void latency(benchmark::State& state, Slots& slots, bool swapping, double part) {
  for (auto _ : state) {
    std::atomic<bool> stop{false};
    uint64_t swaps = 0;
    std::thread swapper([&] {
      while (swapping && !stop) swaps += slots.swap(Slots::kCpu).new_generation != 0;
    });
    bool wrong = false;
    const std::vector<uint32_t> times = call_for(std::chrono::milliseconds(400), &wrong);
    stop = true;
    swapper.join();
    if (wrong) state.SkipWithError("a sum is wrong");
    if (swapping && swaps == 0) state.SkipWithError("nothing was swapped");
    state.counters["value"] = share(times, part);
  }
}

}  // namespace

void register_callers(Slots& slots) {
  static const Registration operators = register_operator();
  benchmark::RegisterBenchmark("call/pinned", call_pinned);
  benchmark::RegisterBenchmark("call/unpinned", call_unpinned);
  for (const auto& [row, part] : {std::pair("caller_p50/", 0.5), std::pair("caller_p99/", 0.99),
                                  std::pair("caller_p9999/", 0.9999)}) {
    for (const bool swapping : {true, false}) {
      const std::string name = row + std::string(swapping ? "swapping" : "quiet");
      benchmark::RegisterBenchmark(name.c_str(), [&slots, swapping,
                                                  part = part](benchmark::State& state) {
        latency(state, slots, swapping, part);
      })->Iterations(1);
    }
  }
}

}  // namespace opyard::bench
