#include "kernels/functors/arithmetic.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
OPYARD_BEGIN_ISA

void add(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  auto it = TensorIterator::elementwise(out, {&self, &other});
  const ScalarType common = result_type(self, other);
  visit_dtype(common, "add", [&]<typename T>(std::type_identity<T>) {
    const T factor = factor_as<T>(alpha);
    if (factor == T(1)) {
      binary<T, T>(it, common, common, kCheapGrain, functors::PlainAdd<T>{});
    } else {
      binary<T, T>(it, common, common, kCheapGrain, functors::Add<T>{factor});
    }
  });
}

void sub(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  auto it = TensorIterator::elementwise(out, {&self, &other});
  const ScalarType common = result_type(self, other);
  visit_numbers(common, "sub", [&]<typename T>(std::type_identity<T>) {
    binary<T, T>(it, common, common, kCheapGrain, functors::Sub<T>{factor_as<T>(alpha)});
  });
}

void mul(const Tensor& self, const Tensor& other, Tensor& out) {
  auto it = TensorIterator::elementwise(out, {&self, &other});
  const ScalarType common = result_type(self, other);
  visit_dtype(common, "mul", [&]<typename T>(std::type_identity<T>) {
    binary<T, T>(it, common, common, kCheapGrain, functors::Mul<T>{});
  });
}

void div(const Tensor& self, const Tensor& other, Tensor& out) {
  auto it = TensorIterator::elementwise(out, {&self, &other});
  const ScalarType common = to_floating(result_type(self, other));
  visit_floating(common, "div", [&]<typename T>(std::type_identity<T>) {
    binary<T, T>(it, common, common, kCheapGrain, functors::Div<T>{});
  });
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  if (isa() != OPYARD_THIS_ISA) return;
  m.impl("add.Tensor", OPYARD_FN(add));
  m.impl("sub.Tensor", OPYARD_FN(sub));
  m.impl("mul.Tensor", OPYARD_FN(mul));
  m.impl("div.Tensor", OPYARD_FN(div));
}

OPYARD_END_ISA
}  // namespace opyard::cpu
