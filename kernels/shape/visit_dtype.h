#pragma once

#include <type_traits>

#include "opyard/base/check.h"
#include "opyard/core/scalar_type.h"

namespace opyard::shape {

// The refusal of a dtype that an operator has no kernel for; `what` names the operator or step.
[[noreturn]] void raise_dtype(ScalarType dtype, const char* what);

// Calls visitor(std::type_identity<T>{}) with the C++ type of `dtype`. Raises UNIMPLEMENTED for a
// dtype that has no kernels.
template <typename Visitor>
decltype(auto) visit_floating(ScalarType dtype, const char* what, Visitor&& visitor) {
  switch (dtype) {
    case ScalarType::kFloat32:
      return visitor(std::type_identity<float>{});
    case ScalarType::kFloat64:
      return visitor(std::type_identity<double>{});
    default:
      raise_dtype(dtype, what);
  }
}

// The same with the integers.
template <typename Visitor>
decltype(auto) visit_numbers(ScalarType dtype, const char* what, Visitor&& visitor) {
  switch (dtype) {
    case ScalarType::kInt64:
      return visitor(std::type_identity<int64_t>{});
    case ScalarType::kInt32:
      return visitor(std::type_identity<int32_t>{});
    case ScalarType::kUInt8:
      return visitor(std::type_identity<uint8_t>{});
    default:
      return visit_floating(dtype, what, visitor);
  }
}

// The same with bool.
template <typename Visitor>
decltype(auto) visit_dtype(ScalarType dtype, const char* what, Visitor&& visitor) {
  if (dtype == ScalarType::kBool) return visitor(std::type_identity<bool>{});
  return visit_numbers(dtype, what, visitor);
}

}  // namespace opyard::shape
