#include "kernels/shape/views.h"

#include "kernels/shape/checked.h"

// Views: another window on the same storage. They touch no element, so one function serves every
// backend, meta included.

namespace opyard::composite {
namespace {

Tensor apply(const Tensor& self, const shape::Window<int64_t>& window) {
  return view_of(self, window.sizes, window.strides,
                 shape::plus(self.storage_offset(), window.offset));
}

}  // namespace

Tensor view(const Tensor& self, IntList size) {
  return apply(self, shape::view(shape::operand(self), size));
}

Tensor permute(const Tensor& self, IntList dims) {
  return apply(self, shape::permute(shape::operand(self), dims));
}

Tensor t(const Tensor& self) { return apply(self, shape::transpose_matrix(shape::operand(self))); }

// `implicit` only tells tracers where the expansion came from.
Tensor expand(const Tensor& self, IntList size, bool /*implicit*/) {
  return apply(self, shape::expand(shape::operand(self), size));
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  return apply(self, shape::slice(shape::operand(self), dim, start, end, step));
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  return apply(self, shape::select(shape::operand(self), dim, index));
}

Tensor squeeze(const Tensor& self) {
  return apply(self, shape::squeeze(shape::operand(self), std::nullopt));
}

Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  return apply(self, shape::squeeze(shape::operand(self), std::optional<IntList>(IntList(dim))));
}

Tensor squeeze_dims(const Tensor& self, IntList dims) {
  return apply(self, shape::squeeze(shape::operand(self), std::optional<IntList>(dims)));
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  return apply(self, shape::unsqueeze(shape::operand(self), dim));
}

}  // namespace opyard::composite
