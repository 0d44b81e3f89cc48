#include <algorithm>
#include <initializer_list>

#include "kernels/shape/checked.h"
#include "kernels/shape/functions.h"
#include "kernels/shape/layout.h"
#include "kernels/shape/promotion.h"

namespace opyard::shape {
namespace {

// The layout that all operands of the result's shape have, where it is dense and not row-major.
template <typename Int>
void keep_layout(Result<Int>& result, std::initializer_list<const Operand<Int>*> operands) {
  ArrayRef<Int> strides;
  bool found = false;
  for (const Operand<Int>* operand : operands) {
    if (!(operand->sizes == ArrayRef<Int>(result.sizes))) continue;
    if (found && !(operand->strides == strides)) return;
    strides = operand->strides;
    found = true;
  }
  if (found && is_dense<Int>(result.sizes, strides)) result.strides = Sizes<Int>(strides);
}

template <typename Int>
Result<Int> elementwise(const Operand<Int>& a, const Operand<Int>& b, ScalarType dtype) {
  Result<Int> result{broadcast(a.sizes, b.sizes), dtype};
  keep_layout(result, {&a, &b});
  return result;
}

template <typename Int>
Result<Int> elementwise(const Operand<Int>& a, ScalarType dtype) {
  Result<Int> result{Sizes<Int>(a.sizes), dtype};
  keep_layout(result, {&a});
  return result;
}

template <typename Int>
ScalarType promoted(const Operand<Int>& a, const Operand<Int>& b) {
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  return promotion.result();
}

}  // namespace

void check_factor(const char* name, const Scalar& factor, ScalarType dtype) {
  OPYARD_CHECK(!factor.is_bool() || dtype == ScalarType::kBool, kInvalidArgument, name,
               " is a bool, but the result is ", to_string(dtype), "; pass a number");
  OPYARD_CHECK(factor.is_bool() || factor.is_int() || is_floating(dtype) || is_complex(dtype),
               kInvalidArgument, name, " is ", to_string(factor), ", but the result is ",
               to_string(dtype), "; pass an integer");
  OPYARD_CHECK(!factor.is_complex() || is_complex(dtype), kInvalidArgument, name, " is ",
               to_string(factor), ", but the result is ", to_string(dtype), "; pass a real number");
}

template <typename Int>
Sizes<Int> broadcast(ArrayRef<Int> a, ArrayRef<Int> b) {
  if (a == b) return Sizes<Int>(a);
  if (a.size() < b.size()) std::swap(a, b);
  Sizes<Int> sizes(a);
  const size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    Int& size = sizes[shift + i];
    if (size == b[i] || b[i] == 1) continue;
    OPYARD_CHECK(size == 1, kInvalidArgument, "the shapes ", to_string(a), " and ", to_string(b),
                 " do not broadcast: counted from the end, dimension ", b.size() - i,
                 " has the sizes ", size, " and ", b[i], "; they must be equal or one of them 1");
    size = b[i];
  }
  return sizes;
}

template <typename Int>
Result<Int> binary(const Operand<Int>& self, const Operand<Int>& other) {
  return elementwise(self, other, promoted(self, other));
}

template <typename Int>
Result<Int> arithmetic(const Operand<Int>& self, const Operand<Int>& other, const Scalar& alpha) {
  const ScalarType dtype = promoted(self, other);
  check_factor("alpha", alpha, dtype);
  return elementwise(self, other, dtype);
}

template <typename Int>
Result<Int> subtraction(const Operand<Int>& self, const Operand<Int>& other, const Scalar& alpha) {
  OPYARD_CHECK(self.dtype != ScalarType::kBool && other.dtype != ScalarType::kBool,
               kInvalidArgument, "bools cannot be subtracted: got ", to_string(self.dtype), " and ",
               to_string(other.dtype), "; use ne for exclusive or, or convert them to integers");
  return arithmetic(self, other, alpha);
}

template <typename Int>
Result<Int> binary_floating(const Operand<Int>& self, const Operand<Int>& other) {
  return elementwise(self, other, to_floating(promoted(self, other)));
}

template <typename Int>
Result<Int> comparison(const Operand<Int>& self, const Operand<Int>& other) {
  promoted(self, other);  // there must be a dtype to compare in
  return elementwise(self, other, ScalarType::kBool);
}

template <typename Int>
Result<Int> selection(const Operand<Int>& condition, const Operand<Int>& self,
                      const Operand<Int>& other) {
  OPYARD_CHECK(condition.dtype == ScalarType::kBool, kInvalidArgument,
               "the condition must be bool, got ", to_string(condition.dtype),
               "; compare it with something, or convert it");
  const Sizes<Int> values = broadcast(self.sizes, other.sizes);
  Result<Int> result{broadcast(condition.sizes, ArrayRef<Int>(values)), promoted(self, other)};
  keep_layout(result, {&condition, &self, &other});
  return result;
}

template <typename Int>
Result<Int> signed_unary(const Operand<Int>& self) {
  OPYARD_CHECK(self.dtype != ScalarType::kBool, kInvalidArgument,
               "bool has no sign; convert the tensor to a number type first");
  return elementwise(self, self.dtype);
}

template <typename Int>
Result<Int> unary_floating(const Operand<Int>& self) {
  return elementwise(self, to_floating(self.dtype));
}

using I = int64_t;
template Sizes<I> broadcast(ArrayRef<I>, ArrayRef<I>);
template Result<I> binary(const Operand<I>&, const Operand<I>&);
template Result<I> arithmetic(const Operand<I>&, const Operand<I>&, const Scalar&);
template Result<I> subtraction(const Operand<I>&, const Operand<I>&, const Scalar&);
template Result<I> binary_floating(const Operand<I>&, const Operand<I>&);
template Result<I> comparison(const Operand<I>&, const Operand<I>&);
template Result<I> selection(const Operand<I>&, const Operand<I>&, const Operand<I>&);
template Result<I> signed_unary(const Operand<I>&);
template Result<I> unary_floating(const Operand<I>&);

}  // namespace opyard::shape
