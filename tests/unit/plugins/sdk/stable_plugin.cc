// A plugin over the C interface: includes nothing of the library. stable_test.cc plays its host.
#include "plugins/sdk/opyard_stable.h"

#include <atomic>
#include <stdexcept>

namespace {

using namespace opyard::stable;

Tensor scale(const Tensor& x, double by) {
  const Tensor row = x.contiguous();  // it may be any view
  Tensor y = Tensor::empty_like(x);
  const float* from = row.data<const float>();
  float* to = y.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = static_cast<float>(from[i] * by);
  return y;
}

Tensor& fill(Tensor& x, const Scalar& with) {
  float* to = x.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = static_cast<float>(with.to_double());
  return x;
}

// Says what it was given, in the order of the arguments.
std::string describe(std::span<const int64_t> ints, const std::vector<double>& doubles,
                     std::span<const bool> bools, const std::vector<std::optional<Tensor>>& tensors,
                     std::optional<std::string_view> text, const Scalar& scalar, DType dtype,
                     Device device, bool flag) {
  std::string said;
  for (const int64_t n : ints) said += text_of(static_cast<size_t>(n)) + " ";
  for (const double d : doubles) said += d > 0 ? "+ " : "- ";
  for (const bool b : bools) said += b ? "yes " : "no ";
  for (const auto& t : tensors) said += t ? "tensor " : "none ";
  said += text ? *text : "silent";
  said += scalar.is_complex() ? " complex" : scalar.is_floating() ? " float" : " int";
  said += dtype == DType::kFloat64 ? " float64" : " other";
  said += device.is_cpu() ? " cpu" : " elsewhere";
  return said + (flag ? " on" : " off");
}

std::tuple<std::vector<Tensor>, std::vector<int64_t>, std::optional<double>, Scalar> parts(
    std::span<const Tensor> tensors) {
  std::vector<Tensor> turned(tensors.rbegin(), tensors.rend());
  return {turned, {int64_t(tensors.size()), -1}, std::nullopt, Scalar(std::complex<double>(1, 2))};
}

void fail(int64_t how) {
  if (how == 1) raise(Code::kOutOfRange, "our own error");
  if (how == 2) throw std::runtime_error("a standard error");
  if (how == 3) throw std::bad_alloc();
  if (how == 4) throw 7;
  if (how == 5) Tensor::empty({-1}, DType::kFloat32);
  if (how == 6) Op("stable_test::nothing");
  if (how == 7) Scalar(std::complex<double>(0, 1)).to_double();
}

int64_t twice_below(const Call& call, const Tensor& x, int64_t n) {
  return call.redispatch<int64_t>(x, 2 * n);
}
int64_t add_sizes(const Tensor& x, int64_t n) { return x.sizes()[0] + n; }

Tensor scale_by_call(const Tensor& x) { return Op("stable_test::scale").call<Tensor>(x, 3.0); }

Tensor contiguous(const Tensor& x) { return x.contiguous(); }

int freed = 0;
Tensor on_own_memory(int64_t count) {
  static float memory[4] = {1, 2, 3, 4};
  const int64_t sizes[] = {count};
  return Tensor::on_memory(
      memory, sizeof(memory), sizes, DType::kFloat32,
      [](void* context) { ++*static_cast<int*>(context); }, &freed);
}
int64_t times_freed() { return freed; }

std::vector<Lease> kept;
void keep(bool whether) {
  kept.clear();
  if (whether) kept.emplace_back(OPYARD_LEASE_EVENT);
}

std::atomic<int64_t> worked = 0;
int64_t work(int64_t by) {
  submit([](void* number) { worked += static_cast<int64_t>(reinterpret_cast<intptr_t>(number)); },
         reinterpret_cast<void*>(static_cast<intptr_t>(by)));
  return stop_requested();
}
int64_t work_done() { return worked; }

std::string trace;
std::string hooks() { return trace; }
void start(const opyard_host&) { trace += "s"; }
void quiesce(uint64_t) { trace += "q"; }
void drain(uint64_t) { raise(Code::kDeadlineExceeded, "a queue is not empty"); }
void stop() noexcept { trace += "f"; }

int32_t say_unimplemented(void*, opyard_call* call, const opyard_value*, uint32_t, opyard_value*,
                          uint32_t) {
  the_host.host->set_status(call->status, 12, as_str("the fallback of the test"));
  return 12;
}

OPYARD_LIBRARY(stable_test, m) {
  m.def("scale(Tensor x, float by) -> Tensor", Tags{"pointwise"}, AliasAnalysis::kPureFunction);
  m.def("fill(Tensor(a!) x, Scalar with) -> Tensor(a!)", OPYARD_FN(fill));
  m.def(
      "describe(int[] i, float[] f, bool[] b, Tensor?[] t, str? s, Scalar n, ScalarType d, "
      "Device e, bool g) -> str",
      OPYARD_FN(describe));
  m.def("parts", OPYARD_FN(parts));
  m.def("fail(int how) -> ()", OPYARD_FN(fail));
  m.def("shift(Tensor x, int n) -> int");
  m.impl("shift", "AutogradCPU", OPYARD_FN(twice_below));
  m.def("scale_by_call", OPYARD_FN(scale_by_call));
  m.def("contiguous", OPYARD_FN(contiguous));
  m.def("on_own_memory(int count) -> Tensor", OPYARD_FN(on_own_memory));
  m.def("times_freed() -> int", OPYARD_FN(times_freed));
  m.def("hooks() -> str", OPYARD_FN(hooks));
  m.def("keep(bool whether) -> ()", OPYARD_FN(keep));
  m.def("work(int by) -> int", OPYARD_FN(work));
  m.def("work_done() -> int", OPYARD_FN(work_done));
  m.def("nowhere(Tensor x) -> Tensor");
}
OPYARD_LIBRARY_IMPL(stable_test, CPU, m) {
  m.impl("scale", OPYARD_FN(scale));
  m.impl("shift", OPYARD_FN(add_sizes));
}
OPYARD_LIBRARY_IMPL(_, QuantizedCPU, m) { m.fallback(boxed(&say_unimplemented)); }

}  // namespace

OPYARD_STABLE_PLUGIN("stable_test", "1.2.3", .start = &start, .quiesce = &quiesce, .drain = &drain,
                     .stop = &stop, .kind = OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS,
                     .claims = "CPU", .needs = "opyard.calls/1");
