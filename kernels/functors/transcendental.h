#pragma once

#include <cmath>

#include "kernels/functors/macros.h"

// Functions of one real number, float or double.
namespace opyard::functors {

template <typename T>
struct Exp {
  OPYARD_HOST_DEVICE T operator()(T x) const { return std::exp(x); }
};
template <typename T>
struct Log {
  OPYARD_HOST_DEVICE T operator()(T x) const { return std::log(x); }
};
template <typename T>
struct Sqrt {
  OPYARD_HOST_DEVICE T operator()(T x) const { return std::sqrt(x); }
};
template <typename T>
struct Tanh {
  OPYARD_HOST_DEVICE T operator()(T x) const { return std::tanh(x); }
};

// 1 / (1 + e^-x); for a large negative x, e^-x is inf and the result 0.
template <typename T>
struct Sigmoid {
  OPYARD_HOST_DEVICE T operator()(T x) const { return T(1) / (T(1) + std::exp(-x)); }
};

}  // namespace opyard::functors
