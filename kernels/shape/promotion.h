#pragma once

#include "kernels/shape/operand.h"

namespace opyard::shape {

// The dtype that holds values of both. Raises INVALID_ARGUMENT where the reference has none (the
// wide unsigned integers with signed ones, 8-bit floats and quantized types with others).
ScalarType promote_types(ScalarType a, ScalarType b);

// Integers and bool become float32, the default real type; others stay.
ScalarType to_floating(ScalarType type) noexcept;

// Whether values of one dtype may be written into a tensor of another: not complex into real, not
// real into integer, not numbers into bool.
bool can_cast(ScalarType from, ScalarType to) noexcept;

// Finds the dtype of an operation on several operands: tensors with dimensions count first, then
// 0-d tensors, then bare numbers; a later class matters only where its category (bool < integer <
// real < complex) is higher.
class Promotion {
 public:
  void add(ScalarType dtype, int64_t dim, bool wrapped_number);
  template <typename Int>
  void add(const Operand<Int>& operand) {
    add(operand.dtype, operand.dim(), operand.wrapped_number);
  }
  void add(const Tensor& tensor) { add(tensor.dtype(), tensor.dim(), tensor.is_wrapped_number()); }
  // At least one operand must have been added.
  ScalarType result() const;

 private:
  std::optional<ScalarType> with_dims_;
  std::optional<ScalarType> without_dims_;
  std::optional<ScalarType> numbers_;
};

// The dtype in which an operation on these is computed.
ScalarType result_type(const Tensor& a, const Tensor& b);

}  // namespace opyard::shape
