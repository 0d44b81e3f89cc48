// The peer's side of every row: the same operators, through libtorch's dispatcher.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <thread>

#include "many.h"
#include "subjects.h"

namespace opyard::bench {
namespace {

void none2(const at::Tensor&, const at::Tensor&) {}
at::Tensor tensor2(const at::Tensor& a, const at::Tensor&) { return a; }
void mixed7(const at::Tensor&, const at::Tensor&, const at::Scalar&, int64_t, double, bool,
            at::IntArrayRef) {}
void hop2(c10::DispatchKeySet keys, const at::Tensor& a, const at::Tensor& b) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("peer::hop2", "")
                             .typed<void(const at::Tensor&, const at::Tensor&)>();
  op.redispatch(keys & c10::after_autograd_keyset, a, b);
}

TORCH_LIBRARY(peer, m) {
  m.def("none2(Tensor a, Tensor b) -> ()");
  m.def("tensor2(Tensor a, Tensor b) -> Tensor");
  m.def("mixed7(Tensor a, Tensor b, Scalar s, int n, float x, bool flag, int[] dims) -> ()");
  m.def("hop2(Tensor a, Tensor b) -> ()");
}
TORCH_LIBRARY_IMPL(peer, CPU, m) {
  m.impl("none2", none2);
  m.impl("tensor2", tensor2);
  m.impl("mixed7", mixed7);
  m.impl("hop2", none2);
}
TORCH_LIBRARY_IMPL(peer, Autograd, m) { m.impl("hop2", hop2); }

c10::OperatorHandle find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

void call_none2(benchmark::State& state) {
  const auto op = find("peer::none2").typed<void(const at::Tensor&, const at::Tensor&)>();
  const at::Tensor a = at::ones({4});
  const at::Tensor b = at::ones({4});
  for (auto _ : state) op.call(a, b);
}

void call_tensor2(benchmark::State& state) {
  const auto op = find("peer::tensor2").typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
  const at::Tensor a = at::ones({4});
  const at::Tensor b = at::ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(op.call(a, b));
}

void call_mixed7(benchmark::State& state) {
  const auto op = find("peer::mixed7")
                      .typed<void(const at::Tensor&, const at::Tensor&, const at::Scalar&, int64_t,
                                  double, bool, at::IntArrayRef)>();
  const at::Tensor a = at::ones({4});
  const at::Tensor b = at::ones({4});
  const at::Scalar s(1.5);
  const std::vector<int64_t> dims = {0, 1};
  for (auto _ : state) op.call(a, b, s, 3, 0.5, true, dims);
}

void call_hop2(benchmark::State& state) {
  const auto op = find("peer::hop2").typed<void(const at::Tensor&, const at::Tensor&)>();
  const at::Tensor a = at::ones({4});
  const at::Tensor b = at::ones({4});
  for (auto _ : state) op.call(a, b);
}

void call_boxed(benchmark::State& state) {
  const auto op = find("peer::none2");
  const at::Tensor a = at::ones({4});
  const at::Tensor b = at::ones({4});
  torch::jit::Stack stack;
  for (auto _ : state) {
    stack.emplace_back(a);
    stack.emplace_back(b);
    op.callBoxed(&stack);
    stack.clear();
  }
}

void find_by_name(benchmark::State& state) {
  const c10::OperatorName name("peer::none2", "");
  for (auto _ : state) {
    benchmark::DoNotOptimize(c10::Dispatcher::singleton().findSchema(name));
  }
}

struct Many {
  torch::Library defs{torch::Library::DEF, "many", c10::nullopt, __FILE__, __LINE__};
  torch::Library kernels{torch::Library::IMPL, "many", c10::DispatchKey::CPU, __FILE__, __LINE__};

  Many() {
    for (int i = 0; i < kMany; ++i) defs.def(many_schema(i).c_str());
    for (int i = 0; i < kMany; ++i) kernels.impl(many_name(i).c_str(), none2);
  }
};

void start_many(benchmark::State& state) {
  for (auto _ : state) {
    auto many = std::make_unique<Many>();
    state.PauseTiming();
    many.reset();
    state.ResumeTiming();
  }
}

void bytes_per_operator(benchmark::State& state) {
  for (auto _ : state) {
    const double before = allocated_bytes();
    const Many many;
    state.counters["value"] = (allocated_bytes() - before) / kMany;
  }
}

// A kernel comes and goes again, at a key where nothing warns of an override.
void publish_one(benchmark::State& state) {
  const Many many;
  for (auto _ : state) {
    torch::Library library(torch::Library::IMPL, "many", c10::DispatchKey::CUDA, __FILE__,
                           __LINE__);
    library.impl("op7", none2);
  }
}

// Changing an operator while it is called is no supported use here, so another one changes.
void call_in_storm(benchmark::State& state) {
  const auto op = find("peer::none2").typed<void(const at::Tensor&, const at::Tensor&)>();
  const at::Tensor a = at::ones({4});
  const at::Tensor b = at::ones({4});
  std::atomic<bool> stop{false};
  std::thread storm([&] {
    while (!stop) {
      torch::Library library(torch::Library::IMPL, "peer", c10::DispatchKey::CUDA, __FILE__,
                             __LINE__);
      library.impl("hop2", none2);
    }
  });
  for (auto _ : state) op.call(a, b);
  stop = true;
  storm.join();
}

}  // namespace

void register_libtorch() {
  const auto add = [](const char* name, benchmark::internal::Function* function) {
    return benchmark::RegisterBenchmark(name, function);
  };
  add("call_two_tensors/libtorch", call_none2);
  add("call_tensor_result/libtorch", call_tensor2);
  add("call_seven_arguments/libtorch", call_mixed7);
  add("redispatch_hop/libtorch", call_hop2);
  add("call_boxed/libtorch", call_boxed);
  add("call_two_threads/libtorch", call_none2)->Threads(2);
  add("call_in_storm/libtorch", call_in_storm);
  add("find_by_name/libtorch", find_by_name);
  add("start_many/libtorch", start_many)->Unit(benchmark::kMillisecond);
  add("bytes_per_operator/libtorch", bytes_per_operator)->Iterations(1);
  add("publish_one/libtorch", publish_one)->Unit(benchmark::kMicrosecond);
}

}  // namespace opyard::bench
