#pragma once

#include <optional>

#include "kernels/shape/operand.h"

// Shape functions of structured operators: from the metadata of the arguments to that of the
// result. Templates over the integer type of sizes; instantiated for int64_t. All raise
// INVALID_ARGUMENT, or OUT_OF_RANGE for dimensions, saying what was got and what is wanted.
// The entries in kernels/ops name them in the field `structured`.

namespace opyard::shape {

// The shape that both broadcast to: aligned at the last dimension, size 1 stretches.
template <typename Int>
Sizes<Int> broadcast(ArrayRef<Int> a, ArrayRef<Int> b);

// ---- element by element; the result keeps a dense layout that its operands share ----
template <typename Int>
Result<Int> binary(const Operand<Int>& self, const Operand<Int>& other);
// binary, and alpha must fit the dtype of the result.
template <typename Int>
Result<Int> arithmetic(const Operand<Int>& self, const Operand<Int>& other, const Scalar& alpha);
// arithmetic without bools.
template <typename Int>
Result<Int> subtraction(const Operand<Int>& self, const Operand<Int>& other, const Scalar& alpha);
// Integers and bools give float32.
template <typename Int>
Result<Int> binary_floating(const Operand<Int>& self, const Operand<Int>& other);
// Gives bool.
template <typename Int>
Result<Int> comparison(const Operand<Int>& self, const Operand<Int>& other);
template <typename Int>
Result<Int> selection(const Operand<Int>& condition, const Operand<Int>& self,
                      const Operand<Int>& other);
// Not for bools.
template <typename Int>
Result<Int> signed_unary(const Operand<Int>& self);
template <typename Int>
Result<Int> unary_floating(const Operand<Int>& self);

// ---- reductions; no dimensions, or an empty list, mean all ----
// One flag per dimension: folded away or not.
SmallVector<bool, 8> reduced_dims(std::optional<IntList> dims, int64_t ndim);
template <typename Int>
Result<Int> sum(const Operand<Int>& self, std::optional<IntList> dims, bool keepdim,
                std::optional<ScalarType> dtype);
template <typename Int>
Result<Int> mean(const Operand<Int>& self, std::optional<IntList> dims, bool keepdim,
                 std::optional<ScalarType> dtype);
template <typename Int>
Result<Int> extremum(const Operand<Int>& self, IntList dims, bool keepdim);
template <typename Int>
Result<Int> arg_extremum(const Operand<Int>& self, std::optional<int64_t> dim, bool keepdim);
template <typename Int>
Result<Int> softmax(const Operand<Int>& self, int64_t dim, bool half_to_float);

// ---- matrices, joining, gathering ----
template <typename Int>
Result<Int> matrix_product(const Operand<Int>& self, const Operand<Int>& mat2);
template <typename Int>
Result<Int> matrix_product_plus(const Operand<Int>& self, const Operand<Int>& mat1,
                                const Operand<Int>& mat2, const Scalar& beta, const Scalar& alpha);
template <typename Int>
Result<Int> concatenation(const std::vector<Operand<Int>>& tensors, int64_t dim);
template <typename Int>
Result<Int> index_select(const Operand<Int>& self, int64_t dim, const Operand<Int>& index);

}  // namespace opyard::shape
