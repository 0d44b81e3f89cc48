#include "opyard/core/scalar.h"

#include <charconv>
#include <cmath>

#include "opyard/base/check.h"

namespace opyard {

int64_t Scalar::to_int() const {
  if (holds_int()) return int_;
  OPYARD_CHECK(imag_ == 0 && std::trunc(real_) == real_ && real_ >= -9223372036854775808.0 &&
                   real_ < 9223372036854775808.0,
               kInvalidArgument, "the number ", to_string(*this),
               " cannot be used as an integer without changing it");
  return static_cast<int64_t>(real_);
}

double Scalar::to_double() const {
  if (holds_int()) return static_cast<double>(int_);
  OPYARD_CHECK(imag_ == 0, kInvalidArgument, "the complex number ", to_string(*this),
               " cannot be used as a real one");
  return real_;
}

bool Scalar::to_bool() const noexcept { return holds_int() ? int_ != 0 : real_ != 0 || imag_ != 0; }

std::complex<double> Scalar::to_complex() const noexcept {
  return {holds_int() ? static_cast<double>(int_) : real_, imag_};
}

ScalarType Scalar::default_type() const noexcept {
  switch (kind_) {
    case Kind::kBool:
      return ScalarType::kBool;
    case Kind::kInt:
      return ScalarType::kInt64;
    case Kind::kDouble:
      return ScalarType::kFloat32;
    case Kind::kComplex:
      return ScalarType::kComplex64;
  }
  return ScalarType::kFloat32;
}

bool operator==(const Scalar& a, const Scalar& b) noexcept {
  if (a.kind_ != b.kind_) return false;
  return a.holds_int() ? a.int_ == b.int_ : a.real_ == b.real_ && a.imag_ == b.imag_;
}

std::string to_string_exact(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string to_string(const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::kBool:
      return scalar.to_bool() ? "True" : "False";
    case Scalar::Kind::kInt:
      return std::to_string(scalar.to_int());
    case Scalar::Kind::kDouble:
      return to_string_exact(scalar.to_double());
    case Scalar::Kind::kComplex: {
      const auto value = scalar.to_complex();
      return str_cat("(", to_string_exact(value.real()), value.imag() < 0 ? "" : "+",
                     to_string_exact(value.imag()), "j)");
    }
  }
  return "?";
}

}  // namespace opyard
