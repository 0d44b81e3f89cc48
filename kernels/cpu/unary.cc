#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/vector_math.h"
#include "kernels/functors/arithmetic.h"
#include "kernels/functors/transcendental.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
OPYARD_BEGIN_ISA
namespace {

constexpr int64_t kBlock = 256;  // elements that are gathered at a time

// Lets `f(in, out, n)`, a function of runs, work on elements with any steps.
template <typename T, typename F>
void run_blocks_of(char* const* data, const int64_t* strides, int64_t n, const F& f) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (strides[0] == kSize && strides[1] == kSize) {
    f(reinterpret_cast<const T*>(data[1]), reinterpret_cast<T*>(data[0]), n);
    return;
  }
  T block[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (int64_t i = 0; i < count; ++i) block[i] = at<T>(data[1], (begin + i) * strides[1]);
    f(static_cast<const T*>(block), block, count);
    for (int64_t i = 0; i < count; ++i) at<T>(data[0], (begin + i) * strides[0]) = block[i];
  }
}

// Functions of real numbers: an integer tensor is read as the default real dtype.
template <typename F>
void real_function(const Tensor& self, Tensor& out, const char* name, const F& f) {
  auto it = TensorIterator::elementwise(out, {&self});
  const ScalarType dtype = to_floating(self.dtype());
  it.present_as(0, dtype);
  it.present_as(1, dtype);
  visit_floating(dtype, name, [&]<typename T>(std::type_identity<T>) {
    run(it, kCostlyGrain, [&f](char* const* data, const int64_t* strides, int64_t n) {
      run_blocks_of<T>(data, strides, n, f);
    });
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
  real_function(self, out, "exp",
                [](const auto* in, auto* to, int64_t n) { vector_exp(in, to, n); });
}
void log(const Tensor& self, Tensor& out) {
  real_function(self, out, "log",
                [](const auto* in, auto* to, int64_t n) { vector_log(in, to, n); });
}
void tanh(const Tensor& self, Tensor& out) {
  real_function(self, out, "tanh",
                [](const auto* in, auto* to, int64_t n) { vector_tanh(in, to, n); });
}
void sqrt(const Tensor& self, Tensor& out) {
  real_function(self, out, "sqrt", []<typename T>(const T* in, T* to, int64_t n) {
    const functors::Sqrt<T> f;
    OPYARD_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) to[i] = f(in[i]);
  });
}
void sigmoid(const Tensor& self, Tensor& out) {
  // 1 / (1 + e^-x), a cache-sized piece at a time, with e^-x in the output's place.
  real_function(self, out, "sigmoid", []<typename T>(const T* in, T* to, int64_t n) {
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t count = std::min(kBlock, n - begin);
      T* const piece = to + begin;
      OPYARD_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < count; ++i) piece[i] = -in[begin + i];
      vector_exp(static_cast<const T*>(piece), piece, count);
      OPYARD_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < count; ++i) piece[i] = T(1) / (T(1) + piece[i]);
    }
  });
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  if (isa() != OPYARD_THIS_ISA) return;
  m.impl("neg", OPYARD_FN(neg));
  m.impl("relu", OPYARD_FN(relu));
  m.impl("exp", OPYARD_FN(exp));
  m.impl("log", OPYARD_FN(log));
  m.impl("sqrt", OPYARD_FN(sqrt));
  m.impl("tanh", OPYARD_FN(tanh));
  m.impl("sigmoid", OPYARD_FN(sigmoid));
}

OPYARD_END_ISA
}  // namespace opyard::cpu
