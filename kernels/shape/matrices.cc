#include "kernels/shape/checked.h"
#include "kernels/shape/functions.h"
#include "kernels/shape/promotion.h"

namespace opyard::shape {
namespace {

template <typename Int>
void check_matrix(const char* name, const Operand<Int>& operand) {
  OPYARD_CHECK(operand.dim() == 2, kInvalidArgument, "'", name,
               "' must be a matrix, got a tensor of shape ", to_string(operand.sizes), " (",
               operand.dim(), " dimensions)");
}

void check_same_dtype(const char* name, ScalarType dtype, ScalarType wanted) {
  OPYARD_CHECK(dtype == wanted, kInvalidArgument, "'", name, "' is ", to_string(dtype),
               ", the first matrix ", to_string(wanted), "; convert one of them to the same dtype");
}

template <typename Int>
Result<Int> product(const char* first, const Operand<Int>& a, const Operand<Int>& b) {
  check_matrix(first, a);
  check_matrix("mat2", b);
  check_same_dtype("mat2", b.dtype, a.dtype);
  OPYARD_CHECK(a.sizes[1] == b.sizes[0], kInvalidArgument, "the shapes ", to_string(a.sizes),
               " and ", to_string(b.sizes), " cannot be multiplied: ", a.sizes[1], " columns meet ",
               b.sizes[0], " rows");
  Result<Int> result;
  result.sizes.push_back(a.sizes[0]);
  result.sizes.push_back(b.sizes[1]);
  result.dtype = a.dtype;
  return result;
}

template <typename Int>
bool expands_to(ArrayRef<Int> sizes, ArrayRef<Int> target) {
  if (sizes.size() > target.size()) return false;
  const size_t shift = target.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(sizes[i] == target[shift + i]) && !(sizes[i] == 1)) return false;
  }
  return true;
}

// Empty 1-d tensors take no part, whatever the others' rank.
template <typename Int>
bool is_left_out(const Operand<Int>& operand) {
  return operand.dim() == 1 && operand.sizes[0] == 0;
}

}  // namespace

template <typename Int>
Result<Int> matrix_product(const Operand<Int>& self, const Operand<Int>& mat2) {
  return product("self", self, mat2);
}

template <typename Int>
Result<Int> matrix_product_plus(const Operand<Int>& self, const Operand<Int>& mat1,
                                const Operand<Int>& mat2, const Scalar& beta, const Scalar& alpha) {
  Result<Int> result = product("mat1", mat1, mat2);
  check_same_dtype("self", self.dtype, mat1.dtype);
  OPYARD_CHECK(expands_to<Int>(self.sizes, result.sizes), kInvalidArgument, "'self' of shape ",
               to_string(self.sizes), " does not expand to the product's shape ",
               to_string(ArrayRef<Int>(result.sizes)));
  check_factor("beta", beta, result.dtype);
  check_factor("alpha", alpha, result.dtype);
  return result;
}

template <typename Int>
Result<Int> concatenation(const std::vector<Operand<Int>>& tensors, int64_t dim) {
  OPYARD_CHECK(!tensors.empty(), kInvalidArgument, "got an empty list, wanted at least one tensor");
  Promotion promotion;
  const Operand<Int>* first = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    promotion.add(tensors[i]);
    OPYARD_CHECK(tensors[i].dim() > 0, kInvalidArgument, "tensor ", i,
                 " is 0-d and cannot be joined; unsqueeze it first");
    if (!first && !is_left_out(tensors[i])) first = &tensors[i];
  }
  if (!first) return {Sizes<Int>(tensors[0].sizes), promotion.result()};
  const auto at = static_cast<size_t>(wrap_dim(dim, first->dim()));
  Result<Int> result{Sizes<Int>(first->sizes), promotion.result()};
  result.sizes[at] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_left_out(tensors[i])) continue;
    const ArrayRef<Int> sizes = tensors[i].sizes;
    bool fits = sizes.size() == first->sizes.size();
    for (size_t d = 0; fits && d < sizes.size(); ++d) {
      fits = d == at || sizes[d] == first->sizes[d];
    }
    OPYARD_CHECK(fits, kInvalidArgument, "tensor ", i, " has the shape ", to_string(sizes),
                 ", the first ", to_string(first->sizes), "; they may differ in dimension ", at,
                 " only");
    result.sizes[at] = plus(result.sizes[at], sizes[at]);
  }
  return result;
}

template <typename Int>
Result<Int> index_select(const Operand<Int>& self, int64_t dim, const Operand<Int>& index) {
  OPYARD_CHECK(index.dim() <= 1, kInvalidArgument, "the index must be 0-d or 1-d, got the shape ",
               to_string(index.sizes));
  OPYARD_CHECK(index.dtype == ScalarType::kInt64 || index.dtype == ScalarType::kInt32,
               kInvalidArgument, "the index must be int32 or int64, got ", to_string(index.dtype));
  const auto at = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Int count = index.dim() == 0 ? Int(1) : index.sizes[0];
  Result<Int> result{Sizes<Int>(self.sizes), self.dtype};
  if (self.dim() > 0) {
    result.sizes[at] = count;
  } else {
    OPYARD_CHECK(count == 1, kInvalidArgument, "a 0-d tensor has one entry, got ", count,
                 " indices");
  }
  return result;
}

using I = int64_t;
template Result<I> matrix_product(const Operand<I>&, const Operand<I>&);
template Result<I> matrix_product_plus(const Operand<I>&, const Operand<I>&, const Operand<I>&,
                                       const Scalar&, const Scalar&);
template Result<I> concatenation(const std::vector<Operand<I>>&, int64_t);
template Result<I> index_select(const Operand<I>&, int64_t, const Operand<I>&);

}  // namespace opyard::shape
