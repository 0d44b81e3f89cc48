#pragma once

#include <vector>

#include "opyard/core/tensor.h"

namespace opyard::shape {

// How sizes of an integer type are kept: inside the object for plain integers.
template <typename Int>
struct SizesOf {
  using Type = std::vector<Int>;
};
template <>
struct SizesOf<int64_t> {
  using Type = Dims;
};
template <typename Int>
using Sizes = typename SizesOf<Int>::Type;

// What a shape function sees of a tensor argument: metadata only, borrowed.
template <typename Int>
struct Operand {
  ArrayRef<Int> sizes;
  ArrayRef<Int> strides;
  ScalarType dtype = ScalarType::kFloat32;
  bool wrapped_number = false;

  int64_t dim() const noexcept { return static_cast<int64_t>(sizes.size()); }
};

// What a shape function says of the result.
template <typename Int>
struct Result {
  Sizes<Int> sizes;
  ScalarType dtype = ScalarType::kFloat32;
  Sizes<Int> strides{};  // empty: row-major
};

inline Operand<int64_t> operand(const Tensor& tensor) {
  return {tensor.sizes(), tensor.strides(), tensor.dtype(), tensor.is_wrapped_number()};
}
inline std::vector<Operand<int64_t>> operands(TensorList tensors) {
  std::vector<Operand<int64_t>> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(operand(tensor));
  return result;
}

// "[2, 3]"; opyard::to_string takes plain integers.
using opyard::to_string;

}  // namespace opyard::shape
