// Our side of the call rows: operators that do nothing, called through static handles as the
// generated stubs do it.
#include <vector>

#include "operators.h"
#include "subjects.h"

namespace opyard::bench {

namespace {

struct Inputs {
  Tensor a = make_tensor({4}, ScalarType::kFloat32);
  Tensor b = make_tensor({4}, ScalarType::kFloat32);
};

void call_none2(benchmark::State& state) {
  const Inputs in;
  for (auto _ : state) none2(in.a, in.b);
}

void call_tensor2(benchmark::State& state) {
  const Inputs in;
  for (auto _ : state) benchmark::DoNotOptimize(tensor2(in.a, in.b));
}

void call_mixed7(benchmark::State& state) {
  const Inputs in;
  const Scalar s(1.5);
  const std::vector<int64_t> dims = {0, 1};
  for (auto _ : state) mixed7(in.a, in.b, s, 3, 0.5, true, dims);
}

void call_hop2(benchmark::State& state) {
  const Inputs in;
  for (auto _ : state) hop2(in.a, in.b);
}

// With its arguments on a stack, as the peer has it.
void call_boxed(benchmark::State& state) {
  const Inputs in;
  const Dispatcher& dispatcher = Dispatcher::global();
  const OperatorHandle op = dispatcher.get("bench::none2");
  Stack stack;
  for (auto _ : state) {
    stack.emplace_back(in.a);
    stack.emplace_back(in.b);
    dispatcher.call_boxed(op, stack);
    stack.clear();
  }
}

// With borrowed arguments, as the daemon and plugins call.
void call_boxed_borrowed(benchmark::State& state) {
  const Inputs in;
  const Dispatcher& dispatcher = Dispatcher::global();
  const OperatorHandle op = dispatcher.get("bench::none2");
  const IValue arguments[] = {IValue(in.a), IValue(in.b)};
  IValue result;
  for (auto _ : state) dispatcher.call_boxed(op, arguments, 2, &result, 0);
}

void find_by_name(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Dispatcher::global().find("bench::none2"));
}

}  // namespace

void register_opyard_calls() {
  benchmark::RegisterBenchmark("call_two_tensors/opyard", call_none2);
  benchmark::RegisterBenchmark("call_tensor_result/opyard", call_tensor2);
  benchmark::RegisterBenchmark("call_seven_arguments/opyard", call_mixed7);
  benchmark::RegisterBenchmark("redispatch_hop/opyard", call_hop2);
  benchmark::RegisterBenchmark("call_boxed_stack/opyard", call_boxed);
  benchmark::RegisterBenchmark("call_boxed_borrowed/opyard", call_boxed_borrowed);
  benchmark::RegisterBenchmark("find_by_name/opyard", find_by_name);
  benchmark::RegisterBenchmark("call_two_threads/opyard", call_none2)->Threads(2);
}

}  // namespace opyard::bench
