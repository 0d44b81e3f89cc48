// The operators that calls.cc times, with their handles, as generated code defines them.
#include "operators.h"

#include "opyard/dispatch/dispatcher.h"

namespace opyard::bench {

constinit const OpHandle<NoResult> none2("bench::none2(Tensor a, Tensor b) -> ()");
constinit const OpHandle<TensorResult> tensor2("bench::tensor2(Tensor a, Tensor b) -> Tensor");
constinit const OpHandle<SevenArguments> mixed7(
    "bench::mixed7(Tensor a, Tensor b, Scalar s, int n, float x, bool flag, int[] dims) -> "
    "()");
constinit const OpHandle<NoResult> hop2("bench::hop2(Tensor a, Tensor b) -> ()");

namespace {

void no_result(const Tensor&, const Tensor&) {}
Tensor first(const Tensor& a, const Tensor&) { return a; }
void seven(const Tensor&, const Tensor&, const Scalar&, int64_t, double, bool, ArrayRef<int64_t>) {}
void hop(Keys keys, const Tensor& a, const Tensor& b) {
  invoke<void, const Tensor&, const Tensor&>(keys.with(keys.set - kAutogradKeys), a, b);
}

}  // namespace

Registration register_operators() {
  static const OpHandleBase* const handles[] = {&none2, &tensor2, &mixed7, &hop2};
  Dispatcher& dispatcher = Dispatcher::global();
  std::vector<Library> blocks;
  blocks.emplace_back(BlockKind::kDef, "bench", "");
  for (const OpHandleBase* handle : handles) blocks.back().def(handle->schema);
  blocks.emplace_back(BlockKind::kImpl, "bench", "CPU");
  blocks.back().impl("none2", OPYARD_FN(no_result));
  blocks.back().impl("tensor2", OPYARD_FN(first));
  blocks.back().impl("mixed7", OPYARD_FN(seven));
  blocks.back().impl("hop2", OPYARD_FN(no_result));
  blocks.emplace_back(BlockKind::kImpl, "bench", "Autograd");
  for (const char* op : {"none2", "tensor2", "mixed7"}) blocks.back().impl(op, Fallthrough{});
  blocks.back().impl("hop2", OPYARD_FN(hop));
  Registration registration = dispatcher.register_libraries(blocks);
  dispatcher.bind_handles(ArrayRef<const OpHandleBase*>(handles, std::size(handles)));
  return registration;
}

}  // namespace opyard::bench
