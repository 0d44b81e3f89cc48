#pragma once

#include "kernels/shape/operand.h"

namespace opyard::shape {

// Every element has a place of its own and there are no gaps, in whatever order of dimensions.
template <typename Int>
bool is_dense(ArrayRef<Int> sizes, ArrayRef<Int> strides);

// Two places of the window are the same element, as after expand: nothing may be written there.
bool overlaps_itself(const Tensor& tensor) noexcept;

enum class Overlap { kNone, kFull, kPartial, kUnknown };
// How the memory of two tensors meets. kUnknown: the ranges meet and a window has gaps, so that it
// cannot be told cheaply.
Overlap overlap(const Tensor& a, const Tensor& b) noexcept;

}  // namespace opyard::shape
