#include "client/cpp/elements.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "opyard/base/check.h"

namespace opyard::client {
namespace {

constexpr DtypeFacts kDtypes[] = {
    {"uint8", 1, ElementKind::kInteger},     {"int8", 1, ElementKind::kInteger},
    {"int16", 2, ElementKind::kInteger},     {"int32", 4, ElementKind::kInteger},
    {"int64", 8, ElementKind::kInteger},     {"uint16", 2, ElementKind::kInteger},
    {"uint32", 4, ElementKind::kInteger},    {"uint64", 8, ElementKind::kInteger},
    {"float16", 2, ElementKind::kReal},      {"bfloat16", 2, ElementKind::kReal},
    {"float32", 4, ElementKind::kReal},      {"float64", 8, ElementKind::kReal},
    {"complex64", 8, ElementKind::kComplex}, {"complex128", 16, ElementKind::kComplex},
    {"bool", 1, ElementKind::kBool},
};

constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"float", "float32"}, {"double", "float64"}, {"half", "float16"},     {"long", "int64"},
    {"int", "int32"},     {"short", "int16"},    {"cfloat", "complex64"}, {"cdouble", "complex128"},
};

constexpr int64_t kMaxElements = int64_t{1} << 40;

template <typename T>
void append_raw(std::string& data, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  data.append(bytes, sizeof(T));
}

template <typename T>
T read_raw(const HostTensor& tensor, size_t index) noexcept {
  T value;
  std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Rounds to `mantissa` stored bits with the exponent range of a 16-bit format, nearest even (IEEE
// 754-2008, 4.3.1).
double round_to(double value, int mantissa, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double unit = std::ldexp(1.0, exponent - mantissa);
  return std::nearbyint(value / unit) * unit;
}

uint16_t to_bfloat16(double value) {
  const auto rounded = static_cast<float>(round_to(value, 7, -126));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
}
double from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t to_float16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  const double rounded = std::fabs(round_to(value, 10, -14));
  if (rounded > 65504) return static_cast<uint16_t>(sign | 0x7c00);
  if (rounded < 0x1p-14) return static_cast<uint16_t>(sign | int(rounded * 0x1p24));
  const int exponent = std::ilogb(rounded);
  const int mantissa = static_cast<int>(std::ldexp(rounded, 10 - exponent)) & 0x3ff;
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | mantissa);
}
double from_float16(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  }
  return bits & 0x8000 ? -value : value;
}

int64_t integer_of(const Element& element, const DtypeFacts& dtype) {
  if (element.kind == ElementKind::kInteger || element.kind == ElementKind::kBool) {
    return element.integer;
  }
  const double real = element.number.real();
  OPYARD_CHECK(element.number.imag() == 0 && std::trunc(real) == real && std::fabs(real) < 0x1p63,
               kInvalidArgument, "the number ", real, " does not fit ", dtype.name);
  return static_cast<int64_t>(real);
}

void append_integer(std::string& data, const DtypeFacts& dtype, int64_t value) {
  const bool is_unsigned = dtype.name.starts_with('u');
  if (dtype.bytes < 8) {
    const int bits = static_cast<int>(dtype.bytes) * 8;
    const int64_t low = is_unsigned ? 0 : -(int64_t{1} << (bits - 1));
    const int64_t high = (int64_t{1} << (is_unsigned ? bits : bits - 1)) - 1;
    OPYARD_CHECK(value >= low && value <= high, kInvalidArgument, "the number ", value,
                 " does not fit ", dtype.name);
  }
  char bytes[8];
  std::memcpy(bytes, &value, sizeof(bytes));
  data.append(bytes, dtype.bytes);
}

}  // namespace

const DtypeFacts* find_dtype(std::string_view name) noexcept {
  for (const auto& [other, own] : kOtherNames) {
    if (other == name) name = own;
  }
  for (const DtypeFacts& facts : kDtypes) {
    if (facts.name == name) return &facts;
  }
  return nullptr;
}

const DtypeFacts& dtype_facts(std::string_view name) {
  const DtypeFacts* facts = find_dtype(name);
  if (facts) return *facts;
  std::string known;
  for (const DtypeFacts& each : kDtypes)
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  raise(Code::kInvalidArgument,
        str_cat("'", name, "' is no dtype whose elements can be written; ", "known are ", known));
}

void append_element(std::string& data, const DtypeFacts& dtype, const Element& element) {
  const std::complex<double> number = element.as_complex();
  switch (dtype.kind) {
    case ElementKind::kBool:
      append_raw<uint8_t>(
          data, element.kind == ElementKind::kBool ? element.integer != 0 : number != 0.0);
      return;
    case ElementKind::kInteger:
      return append_integer(data, dtype, integer_of(element, dtype));
    case ElementKind::kComplex:
      if (dtype.bytes == 16) return append_raw(data, number);
      return append_raw(data, std::complex<float>(number));
    case ElementKind::kReal:
      break;
  }
  OPYARD_CHECK(number.imag() == 0, kInvalidArgument, "a complex number does not fit ", dtype.name);
  if (dtype.bytes == 8) return append_raw(data, number.real());
  if (dtype.bytes == 4) return append_raw(data, static_cast<float>(number.real()));
  append_raw(data,
             dtype.name == "bfloat16" ? to_bfloat16(number.real()) : to_float16(number.real()));
}

Element element_at(const HostTensor& tensor, const DtypeFacts& dtype, size_t index) noexcept {
  Element element{dtype.kind, 0, {}};
  switch (dtype.kind) {
    case ElementKind::kBool:
      element.integer = read_raw<uint8_t>(tensor, index) != 0;
      return element;
    case ElementKind::kComplex:
      element.number = dtype.bytes == 16
                           ? read_raw<std::complex<double>>(tensor, index)
                           : std::complex<double>(read_raw<std::complex<float>>(tensor, index));
      return element;
    case ElementKind::kInteger: {
      const bool is_unsigned = dtype.name.starts_with('u');
      if (dtype.bytes == 1) {
        element.integer =
            is_unsigned ? read_raw<uint8_t>(tensor, index) : read_raw<int8_t>(tensor, index);
      } else if (dtype.bytes == 2) {
        element.integer =
            is_unsigned ? read_raw<uint16_t>(tensor, index) : read_raw<int16_t>(tensor, index);
      } else if (dtype.bytes == 4) {
        element.integer = is_unsigned ? int64_t{read_raw<uint32_t>(tensor, index)}
                                      : int64_t{read_raw<int32_t>(tensor, index)};
      } else {
        element.integer = read_raw<int64_t>(tensor, index);
      }
      return element;
    }
    case ElementKind::kReal:
      break;
  }
  if (dtype.bytes == 8) {
    element.number = read_raw<double>(tensor, index);
  } else if (dtype.bytes == 4) {
    element.number = read_raw<float>(tensor, index);
  } else {
    const auto bits = read_raw<uint16_t>(tensor, index);
    element.number = dtype.name == "bfloat16" ? from_bfloat16(bits) : from_float16(bits);
  }
  return element;
}

size_t element_count(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : sizes) {
    OPYARD_CHECK(size >= 0, kInvalidArgument, "a tensor cannot have the size ", size);
    empty = empty || size == 0;
    if (size == 0) continue;
    OPYARD_CHECK(count <= kMaxElements / size, kInvalidArgument,
                 "a tensor with more than 2^40 elements");
    count *= size;
  }
  return empty ? 0 : static_cast<size_t>(count);
}

}  // namespace opyard::client
