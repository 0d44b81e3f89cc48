#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "kernels/functors/macros.h"

// Real numbers from random bits. One Philox block is four words; it gives four floats or two
// doubles.
namespace opyard::functors {

// Evenly in [0, 1), all multiples of 2^-24.
OPYARD_HOST_DEVICE inline float uniform_float(uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// Evenly in [0, 1), all multiples of 2^-53.
OPYARD_HOST_DEVICE inline double uniform_double(uint32_t low, uint32_t high) {
  const uint64_t bits = (uint64_t{high} << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

struct NormalPair {
  double first;
  double second;
};

// Two independent standard normals from two uniforms in [0, 1): the transform of Box and Muller,
// "A note on the generation of random normal deviates", 1958.
OPYARD_HOST_DEVICE inline NormalPair normal_pair(double u, double v) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u));
  const double angle = 2.0 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace opyard::functors
