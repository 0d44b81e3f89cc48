#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/functors/macros.h"

namespace opyard::functors {

// A real number as an integer, towards zero. What does not fit (nan too) becomes the smallest
// value, as the processor does it; never undefined.
template <typename Int, typename Real>
OPYARD_HOST_DEVICE inline Int truncate(Real value) {
  constexpr Real kLow = static_cast<Real>(std::numeric_limits<Int>::min());
  return value >= kLow && value < -kLow ? static_cast<Int>(value) : std::numeric_limits<Int>::min();
}

// A value as another element type. To bool: whether it is not zero (nan is not). Integers wrap
// around; a real number goes to an integer through truncate(), to uint8 by way of int64.
template <typename To, typename From>
OPYARD_HOST_DEVICE inline To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    using Wide = std::conditional_t<std::is_unsigned_v<To>, int64_t, To>;
    return static_cast<To>(truncate<Wide>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace opyard::functors
