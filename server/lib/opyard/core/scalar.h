#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <string>

#include "opyard/core/scalar_type.h"

namespace opyard {

// One number that remembers whether it was written as bool, integer, real or complex.
class Scalar {
 public:
  enum class Kind : uint8_t { kBool, kInt, kDouble, kComplex };

  constexpr Scalar() noexcept : Scalar(int64_t{0}) {}
  constexpr Scalar(std::same_as<bool> auto value) noexcept
      : kind_(Kind::kBool), int_(value), imag_(0) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr Scalar(T value) noexcept
      : kind_(Kind::kInt), int_(static_cast<int64_t>(value)), imag_(0) {}
  template <std::floating_point T>
  constexpr Scalar(T value) noexcept : kind_(Kind::kDouble), real_(value), imag_(0) {}
  constexpr Scalar(std::complex<double> value) noexcept
      : kind_(Kind::kComplex), real_(value.real()), imag_(value.imag()) {}

  constexpr Kind kind() const noexcept { return kind_; }
  constexpr bool is_bool() const noexcept { return kind_ == Kind::kBool; }
  constexpr bool is_int() const noexcept { return kind_ == Kind::kInt; }
  constexpr bool is_double() const noexcept { return kind_ == Kind::kDouble; }
  constexpr bool is_complex() const noexcept { return kind_ == Kind::kComplex; }

  // Conversions raise INVALID_ARGUMENT when the value does not fit: a fraction or an overflow for
  // integers, an imaginary part for reals.
  int64_t to_int() const;
  double to_double() const;
  bool to_bool() const noexcept;
  std::complex<double> to_complex() const noexcept;

  // The dtype that a bare number has: bool, int64, float32 (the default real type) or complex64.
  ScalarType default_type() const noexcept;

  friend bool operator==(const Scalar& a, const Scalar& b) noexcept;

 private:
  constexpr bool holds_int() const noexcept { return kind_ == Kind::kInt || kind_ == Kind::kBool; }

  Kind kind_;
  union {
    int64_t int_;
    double real_;
  };
  double imag_;
};

// As it is written in a schema or on the command line: 2, 2.5, true, (1+2j).
std::string to_string(const Scalar& scalar);
// The shortest text that reads back as the same double, always with a point or an exponent.
std::string to_string_exact(double value);

}  // namespace opyard
