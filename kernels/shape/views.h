#pragma once

#include <optional>

#include "kernels/shape/operand.h"

// Windows on the elements of a tensor: what views are. Templates as in functions.h; offsets count
// from the tensor's own first element.

namespace opyard::shape {

template <typename Int>
struct Window {
  Sizes<Int> sizes;
  Sizes<Int> strides;
  Int offset = 0;
};

// The same elements in row-major order under another shape; one size may be -1. Raises
// INVALID_ARGUMENT where the number of elements differs or the strides do not allow it.
template <typename Int>
Window<Int> view(const Operand<Int>& self, ArrayRef<Int> size);
template <typename Int>
Window<Int> permute(const Operand<Int>& self, IntList dims);
template <typename Int>
Window<Int> transpose_matrix(const Operand<Int>& self);
template <typename Int>
Window<Int> expand(const Operand<Int>& self, ArrayRef<Int> size);
template <typename Int>
Window<Int> slice(const Operand<Int>& self, int64_t dim, std::optional<Int> start,
                  std::optional<Int> end, Int step);
template <typename Int>
Window<Int> select(const Operand<Int>& self, int64_t dim, Int index);
// Without the named dimensions of size 1; nullopt names all.
template <typename Int>
Window<Int> squeeze(const Operand<Int>& self, std::optional<IntList> dims);
template <typename Int>
Window<Int> unsqueeze(const Operand<Int>& self, int64_t dim);

}  // namespace opyard::shape
