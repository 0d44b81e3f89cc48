#pragma once

#include "kernels/shape/operand.h"

namespace opyard::shape {

// Sizes come from outside: their sums and products are checked. Symbolic integers bring their own.
inline int64_t times(int64_t a, int64_t b) {
  int64_t result = 0;
  OPYARD_CHECK(!__builtin_mul_overflow(a, b, &result), kInvalidArgument,
               "the product of the sizes ", a, " and ", b, " is more than can be counted");
  return result;
}
inline int64_t plus(int64_t a, int64_t b) {
  int64_t result = 0;
  OPYARD_CHECK(!__builtin_add_overflow(a, b, &result), kInvalidArgument, "the sum of the sizes ", a,
               " and ", b, " is more than can be counted");
  return result;
}

template <typename Int>
Int numel_of(ArrayRef<Int> sizes) {
  for (const Int& size : sizes) {
    if (size == 0) return 0;
  }
  Int numel = 1;
  for (const Int& size : sizes) numel = times(numel, size);
  return numel;
}

// A factor must fit the dtype of the result: no fraction for integers, no bool for numbers.
void check_factor(const char* name, const Scalar& factor, ScalarType dtype);

}  // namespace opyard::shape
