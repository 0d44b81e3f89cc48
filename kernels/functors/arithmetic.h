#pragma once

#include <type_traits>

#include "kernels/functors/macros.h"

// Scalar arithmetic, one value at a time. Integers wrap around, real numbers follow IEEE 754; a
// sum of bools is "or", a product "and".
namespace opyard::functors {

namespace detail {
// The type to calculate in so that a signed overflow wraps instead of being undefined.
template <typename T, bool kWraps = std::is_integral_v<T> && !std::is_same_v<T, bool>>
struct Wrapping {
  using Type = T;
};
template <typename T>
struct Wrapping<T, true> {
  using Type = std::make_unsigned_t<T>;
};
template <typename T>
using WrappingType = typename Wrapping<T>::Type;
}  // namespace detail

// a + alpha * b
template <typename T>
struct Add {
  T alpha = T(1);
  OPYARD_HOST_DEVICE T operator()(T a, T b) const {
    using W = detail::WrappingType<T>;
    if constexpr (std::is_same_v<T, bool>) {
      return a || (alpha && b);
    } else {
      return static_cast<T>(static_cast<W>(a) + static_cast<W>(alpha) * static_cast<W>(b));
    }
  }
};

// a + b: the usual case, without the product
template <typename T>
struct PlainAdd {
  OPYARD_HOST_DEVICE T operator()(T a, T b) const {
    using W = detail::WrappingType<T>;
    if constexpr (std::is_same_v<T, bool>) {
      return a || b;
    } else {
      return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
    }
  }
};

// a - alpha * b; not for bool
template <typename T>
struct Sub {
  T alpha = T(1);
  OPYARD_HOST_DEVICE T operator()(T a, T b) const {
    using W = detail::WrappingType<T>;
    return static_cast<T>(static_cast<W>(a) - static_cast<W>(alpha) * static_cast<W>(b));
  }
};

template <typename T>
struct Mul {
  OPYARD_HOST_DEVICE T operator()(T a, T b) const {
    using W = detail::WrappingType<T>;
    if constexpr (std::is_same_v<T, bool>) {
      return a && b;
    } else {
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    }
  }
};

// Real numbers only: an integer quotient is computed on real numbers too.
template <typename T>
struct Div {
  static_assert(std::is_floating_point_v<T>);
  OPYARD_HOST_DEVICE T operator()(T a, T b) const { return a / b; }
};

// -a; not for bool
template <typename T>
struct Neg {
  OPYARD_HOST_DEVICE T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -a;
    } else {
      using W = detail::WrappingType<T>;
      return static_cast<T>(W(0) - static_cast<W>(a));
    }
  }
};

// max(a, 0); nan stays
template <typename T>
struct Relu {
  OPYARD_HOST_DEVICE T operator()(T a) const { return a < T(0) ? T(0) : a; }
};

}  // namespace opyard::functors
