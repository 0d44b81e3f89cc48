// Counts instructions per call under callgrind: a measure that the machine's mood does not change.
// Each case ends with a dump of its own, named by the case; test_instructions.py reads them.
#include <valgrind/callgrind.h>

#include <vector>

#include "operators.h"

namespace opyard::bench {
namespace {

constexpr int kCalls = 1000;

// Of all threads: the reclaimer has to rest.
template <typename Call>
void count(const char* name, Call call) {
  if (!is_pinned()) Dispatcher::global().synchronize();
  for (int i = 0; i < 3; ++i) call();
  CALLGRIND_ZERO_STATS;
  for (int i = 0; i < kCalls; ++i) {
    call();
    asm volatile("" ::: "memory");
  }
  CALLGRIND_DUMP_STATS_AT(name);
}

void boxed_kernel(const Kernel&, Keys, const IValue*, uint32_t, IValue*, uint32_t) {}

void count_all() {
  const Tensor a = make_tensor({4}, ScalarType::kFloat32);
  const Tensor b = make_tensor({4}, ScalarType::kFloat32);
  const Scalar s(1.5);
  const std::vector<int64_t> dims = {0, 1};
  const Dispatcher& dispatcher = Dispatcher::global();
  const OperatorHandle op = dispatcher.get("bench::none2");
  const IValue in[] = {IValue(a), IValue(b)};
  IValue result;

  count("loop", [] {});
  count("call_two_tensors", [&] { none2(a, b); });
  count("call_tensor_result", [&] { tensor2(a, b); });
  count("call_seven_arguments", [&] { mixed7(a, b, s, 3, 0.5, true, dims); });
  count("redispatch_hop", [&] { hop2(a, b); });
  {
    const PinnedRoot pin;
    count("call_nested", [&] { none2(a, b); });
  }
  count("call_boxed_borrowed", [&] { dispatcher.call_boxed(op, in, 2, &result, 0); });
  count("find_by_name", [&] { dispatcher.find("bench::none2"); });
  {
    const Registration boxed = Dispatcher::global().register_block(
        BlockKind::kImpl, "bench", "CPU",
        [](Library& m) { m.override_impl("none2", BoxedKernel{&boxed_kernel}); });
    count("call_boxed_kernel", [&] { none2(a, b); });
  }
}

}  // namespace
}  // namespace opyard::bench

int main() {
  const opyard::Registration operators = opyard::bench::register_operators();
  opyard::bench::count_all();
}
