#include "kernels/shape/promotion.h"

#include <algorithm>

namespace opyard::shape {
namespace {

[[noreturn]] void no_common_type(ScalarType a, ScalarType b) {
  raise(Code::kInvalidArgument, str_cat("there is no dtype for both ", to_string(a), " and ",
                                        to_string(b), "; convert one of them first"));
}

// 0 bool, 1 integer, 2 real, 3 complex.
int category(ScalarType type) noexcept {
  if (is_complex(type)) return 3;
  if (is_floating(type)) return 2;
  return type == ScalarType::kBool ? 0 : 1;
}

bool is_wide_unsigned(ScalarType type) noexcept {
  return kind_of(type) == TypeKind::kUnsigned && type != ScalarType::kUInt8;
}

// Types that mix with nothing but themselves.
bool stands_alone(ScalarType type) noexcept {
  return kind_of(type) == TypeKind::kQuantized || (is_floating(type) && element_size(type) == 1);
}

ScalarType promote_integers(ScalarType a, ScalarType b) {
  if (element_size(a) < element_size(b)) std::swap(a, b);
  if (kind_of(a) == kind_of(b)) return a;
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) no_common_type(a, b);
  // uint8 with a signed type: the next signed type that holds both.
  return element_size(a) > 1 ? a : ScalarType::kInt16;
}

ScalarType promote_reals(ScalarType a, ScalarType b) noexcept {
  if (element_size(a) != element_size(b)) return element_size(a) > element_size(b) ? a : b;
  return ScalarType::kFloat32;  // float16 with bfloat16
}

// The complex type whose parts are of a real one.
ScalarType complex_of(ScalarType real) noexcept {
  switch (real) {
    case ScalarType::kFloat16:
      return ScalarType::kComplex32;
    case ScalarType::kFloat64:
      return ScalarType::kComplex128;
    default:
      return ScalarType::kComplex64;
  }
}

void merge(std::optional<ScalarType>& into, ScalarType type) {
  into = into ? promote_types(*into, type) : type;
}

// `lower` changes the outcome only where its category is higher.
std::optional<ScalarType> combine(std::optional<ScalarType> higher,
                                  std::optional<ScalarType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (category(*lower) <= category(*higher)) return higher;
  if (is_complex(*lower) && is_floating(*higher)) return complex_of(*higher);
  return promote_types(*higher, *lower);
}

}  // namespace

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (stands_alone(a) || stands_alone(b)) no_common_type(a, b);
  if (category(a) < category(b)) std::swap(a, b);
  if (category(a) == 3) {
    if (category(b) < 2) return a;
    const ScalarType parts = is_complex(b) ? b : complex_of(b);
    return element_size(a) >= element_size(parts) ? a : parts;
  }
  if (category(b) == 0 || category(a) != category(b)) return a;
  return category(a) == 2 ? promote_reals(a, b) : promote_integers(a, b);
}

ScalarType to_floating(ScalarType type) noexcept {
  return category(type) < 2 ? ScalarType::kFloat32 : type;
}

bool can_cast(ScalarType from, ScalarType to) noexcept {
  if (is_complex(from)) return is_complex(to);
  if (is_floating(from)) return category(to) >= 2;
  return from == ScalarType::kBool || to != ScalarType::kBool;
}

void Promotion::add(ScalarType dtype, int64_t dim, bool wrapped_number) {
  if (wrapped_number) {
    if (is_floating(dtype)) dtype = ScalarType::kFloat32;
    if (is_complex(dtype)) dtype = ScalarType::kComplex64;
    merge(numbers_, dtype);
  } else {
    merge(dim == 0 ? without_dims_ : with_dims_, dtype);
  }
}

ScalarType Promotion::result() const {
  const auto result = combine(with_dims_, combine(without_dims_, numbers_));
  OPYARD_CHECK(result.has_value(), kInvalidArgument, "there is no operand to take a dtype from");
  return *result;
}

ScalarType result_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() && a.is_wrapped_number() == b.is_wrapped_number() &&
      !a.is_wrapped_number()) {
    return a.dtype();
  }
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  return promotion.result();
}

}  // namespace opyard::shape
