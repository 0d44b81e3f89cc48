#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "kernels/functors/arithmetic.h"
#include "kernels/functors/transcendental.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
namespace {

// Functions of real numbers: an integer tensor is read as the default real dtype.
template <template <typename> typename F>
void real_function(const Tensor& self, Tensor& out, const char* name, int64_t grain) {
  auto it = TensorIterator::elementwise(out, {&self});
  const ScalarType dtype = to_floating(self.dtype());
  visit_floating(dtype, name, [&]<typename T>(std::type_identity<T>) {
    unary<T, T>(it, dtype, dtype, grain, F<T>{});
  });
}

template <template <typename> typename F>
void number_function(const Tensor& self, Tensor& out, const char* name) {
  auto it = TensorIterator::elementwise(out, {&self});
  const ScalarType dtype = self.dtype();
  visit_numbers(dtype, name, [&]<typename T>(std::type_identity<T>) {
    unary<T, T>(it, dtype, dtype, kCheapGrain, F<T>{});
  });
}

}  // namespace

void neg(const Tensor& self, Tensor& out) { number_function<functors::Neg>(self, out, "neg"); }
void relu(const Tensor& self, Tensor& out) { number_function<functors::Relu>(self, out, "relu"); }

void exp(const Tensor& self, Tensor& out) {
  real_function<functors::Exp>(self, out, "exp", kCostlyGrain);
}
void log(const Tensor& self, Tensor& out) {
  real_function<functors::Log>(self, out, "log", kCostlyGrain);
}
void sqrt(const Tensor& self, Tensor& out) {
  real_function<functors::Sqrt>(self, out, "sqrt", kCheapGrain);
}
void tanh(const Tensor& self, Tensor& out) {
  real_function<functors::Tanh>(self, out, "tanh", kCostlyGrain);
}
void sigmoid(const Tensor& self, Tensor& out) {
  real_function<functors::Sigmoid>(self, out, "sigmoid", kCostlyGrain);
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  m.impl("neg", OPYARD_FN(neg));
  m.impl("relu", OPYARD_FN(relu));
  m.impl("exp", OPYARD_FN(exp));
  m.impl("log", OPYARD_FN(log));
  m.impl("sqrt", OPYARD_FN(sqrt));
  m.impl("tanh", OPYARD_FN(tanh));
  m.impl("sigmoid", OPYARD_FN(sigmoid));
}

}  // namespace opyard::cpu
