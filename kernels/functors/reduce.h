#pragma once

#include <limits>
#include <type_traits>

#include "kernels/functors/macros.h"

// How two partial results become one.
namespace opyard::functors {

template <typename T>
OPYARD_HOST_DEVICE inline bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value != value;
  } else {
    return false;
  }
}

// True when `candidate` beats `best` where the largest wins, nan beats everything, and the first of
// equals stays.
template <typename T>
OPYARD_HOST_DEVICE inline bool is_better_max(T candidate, T best) {
  return candidate > best || (is_nan(candidate) && !is_nan(best));
}

template <typename T>
struct MaxNan {
  OPYARD_HOST_DEVICE static constexpr T start() {
    if constexpr (std::is_floating_point_v<T>) {
      return -std::numeric_limits<T>::infinity();
    } else {
      return std::numeric_limits<T>::lowest();
    }
  }
  // Without a branch, so that loops over it vectorise.
  OPYARD_HOST_DEVICE T operator()(T a, T b) const {
    const bool second = static_cast<int>(b > a) | static_cast<int>(is_nan(b));
    return second ? b : a;
  }
};

}  // namespace opyard::functors
