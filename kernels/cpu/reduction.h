#pragma once

#include <optional>

#include "kernels/shape/tensor_iterator.h"
#include "opyard/core/tensor.h"

namespace opyard::cpu {

// Which dimensions of a tensor a reduction folds away, checked against the output's shape. Raises
// INVALID_ARGUMENT or OUT_OF_RANGE.
struct Reduction {
  // Without dimensions, or with an empty list, all are folded away.
  Reduction(const Tensor& self, std::optional<IntList> dims, bool keepdim, const Tensor& out);

  Dims sizes;          // of self
  Dims self_strides;   // elements
  Dims out_strides;    // of `out` by self's dimensions; 0 where folded away
  Dims kept_strides;   // of a row-major buffer of the kept dimensions; 0 where folded away
  Dims kept_sizes;     // 1 where folded away
  int64_t numel = 0;   // of self
  int64_t kept = 1;    // number of results
  int64_t folded = 1;  // elements that become one result
};

// Folds elements of `self`, read as `dtype`, into one accumulator per result, row-major, which the
// caller has initialised. `inner` has the loop's meaning for operands (accumulator, element), where
// the accumulator's step may be 0; `merge` folds accumulators from operand 1 into operand 0 in the
// same way. Work is split over the pool; what is added to what does not depend on the number of
// threads.
struct Folding {
  ScalarType dtype;
  ScalarType accumulator;
  shape::TensorIterator::Loop inner;
  shape::TensorIterator::Loop merge;
  void (*start)(void* accumulators, int64_t n);
};
void fold(const Reduction& plan, const Tensor& self, const Folding& folding, void* accumulators);

}  // namespace opyard::cpu
