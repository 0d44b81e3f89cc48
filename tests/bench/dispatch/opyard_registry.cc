// Our side of the rows about registration: publications among many operators, and calls beside
// them.
#include <atomic>
#include <memory>
#include <thread>

#include "many.h"
#include "operators.h"
#include "subjects.h"

namespace opyard::bench {
namespace {

void nothing(const Tensor&, const Tensor&) {}
void nothing_else(const Tensor&, const Tensor&) {}

Registration register_many(Dispatcher& dispatcher) {
  std::vector<Library> blocks;
  blocks.emplace_back(BlockKind::kDef, "many", "");
  for (int i = 0; i < kMany; ++i) blocks.back().def(many_schema(i));
  blocks.emplace_back(BlockKind::kImpl, "many", "CPU");
  for (int i = 0; i < kMany; ++i) blocks.back().impl(many_name(i), OPYARD_FN(nothing));
  return dispatcher.register_libraries(blocks);
}

Registration override_one(Dispatcher& dispatcher, const char* name_space, const char* op) {
  return dispatcher.register_block(BlockKind::kImpl, name_space, "CPU", [&](Library& m) {
    m.override_impl(op, OPYARD_FN(nothing_else));
  });
}

// From nothing to operators that can be called.
void start_many(benchmark::State& state) {
  for (auto _ : state) {
    auto dispatcher = std::make_unique<Dispatcher>();
    Registration many = register_many(*dispatcher);
    state.PauseTiming();
    many.reset();
    dispatcher.reset();
    state.ResumeTiming();
  }
}

void bytes_per_operator(benchmark::State& state) {
  for (auto _ : state) {
    Dispatcher dispatcher;
    dispatcher.synchronize();
    const double before = allocated_bytes();
    const Registration many = register_many(dispatcher);
    dispatcher.synchronize();
    state.counters["value"] = (allocated_bytes() - before) / kMany;
  }
}

// Two publications: a kernel comes and goes.
void publish_one(benchmark::State& state) {
  Dispatcher dispatcher;
  const Registration many = register_many(dispatcher);
  for (auto _ : state) {
    Registration one = override_one(dispatcher, "many", "op7");
    one.reset();
    state.PauseTiming();
    dispatcher.synchronize();
    state.ResumeTiming();
  }
}

// A fallback changes, so every table is built anew.
void publish_all(benchmark::State& state) {
  Dispatcher dispatcher;
  const Registration many = register_many(dispatcher);
  for (auto _ : state) {
    Registration fallback = dispatcher.register_block(
        BlockKind::kImpl, "_", "IPU", [](Library& m) { m.fallback(Fallthrough{}); });
    state.PauseTiming();
    fallback.reset();
    dispatcher.synchronize();
    state.ResumeTiming();
  }
}

// Calls while another thread overrides and restores the kernel that they go to.
void call_in_storm(benchmark::State& state) {
  const Tensor a = make_tensor({4}, ScalarType::kFloat32);
  const Tensor b = make_tensor({4}, ScalarType::kFloat32);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> changes{0};
  std::thread storm([&] {
    while (!stop) {
      try {
        Registration one = override_one(Dispatcher::global(), "bench", "none2");
        ++changes;
      } catch (const Error&) {  // the bound on what waits to be freed
        std::this_thread::yield();
      }
    }
  });
  for (auto _ : state) none2(a, b);
  stop = true;
  storm.join();
  state.counters["changes"] = static_cast<double>(2 * changes);
}

}  // namespace

void register_opyard_registry() {
  benchmark::RegisterBenchmark("start_many/opyard", start_many)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("bytes_per_operator/opyard", bytes_per_operator)->Iterations(1);
  benchmark::RegisterBenchmark("publish_one/opyard", publish_one)
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(100);
  benchmark::RegisterBenchmark("publish_all/opyard", publish_all)
      ->Unit(benchmark::kMillisecond)
      ->Iterations(3);
  benchmark::RegisterBenchmark("call_in_storm/opyard", call_in_storm);
}

}  // namespace opyard::bench
