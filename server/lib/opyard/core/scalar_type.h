#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace opyard {

// Element types: T(number, name, bytes, kind). Numbers are PyTorch's, and stand on the wire.
#define OPYARD_SCALAR_TYPES(T)                           \
  T(0, UInt8, "uint8", 1, kUnsigned)                     \
  T(1, Int8, "int8", 1, kSigned)                         \
  T(2, Int16, "int16", 2, kSigned)                       \
  T(3, Int32, "int32", 4, kSigned)                       \
  T(4, Int64, "int64", 8, kSigned)                       \
  T(5, Float16, "float16", 2, kFloating)                 \
  T(6, Float32, "float32", 4, kFloating)                 \
  T(7, Float64, "float64", 8, kFloating)                 \
  T(8, Complex32, "complex32", 4, kComplex)              \
  T(9, Complex64, "complex64", 8, kComplex)              \
  T(10, Complex128, "complex128", 16, kComplex)          \
  T(11, Bool, "bool", 1, kBoolean)                       \
  T(12, QInt8, "qint8", 1, kQuantized)                   \
  T(13, QUInt8, "quint8", 1, kQuantized)                 \
  T(14, QInt32, "qint32", 4, kQuantized)                 \
  T(15, BFloat16, "bfloat16", 2, kFloating)              \
  T(23, Float8E5M2, "float8_e5m2", 1, kFloating)         \
  T(24, Float8E4M3FN, "float8_e4m3fn", 1, kFloating)     \
  T(25, Float8E5M2FNUZ, "float8_e5m2fnuz", 1, kFloating) \
  T(26, Float8E4M3FNUZ, "float8_e4m3fnuz", 1, kFloating) \
  T(27, UInt16, "uint16", 2, kUnsigned)                  \
  T(28, UInt32, "uint32", 4, kUnsigned)                  \
  T(29, UInt64, "uint64", 8, kUnsigned)

enum class ScalarType : uint8_t {
#define OPYARD_T(number, name, text, bytes, kind) k##name = number,
  OPYARD_SCALAR_TYPES(OPYARD_T)
#undef OPYARD_T
};

enum class TypeKind : uint8_t { kBoolean, kUnsigned, kSigned, kFloating, kComplex, kQuantized };

// Bytes of one element; 0 for a number that names no type.
size_t element_size(ScalarType type) noexcept;
TypeKind kind_of(ScalarType type) noexcept;
std::string_view to_string(ScalarType type) noexcept;
bool is_valid(ScalarType type) noexcept;
// Takes "float32" as well as the reference's "float", "double", "half", "long", "int", "short".
std::optional<ScalarType> try_parse_scalar_type(std::string_view text) noexcept;

inline bool is_floating(ScalarType type) noexcept { return kind_of(type) == TypeKind::kFloating; }
inline bool is_complex(ScalarType type) noexcept { return kind_of(type) == TypeKind::kComplex; }
// Integers proper: bool is not one.
inline bool is_integral(ScalarType type) noexcept {
  const TypeKind kind = kind_of(type);
  return kind == TypeKind::kSigned || kind == TypeKind::kUnsigned;
}

}  // namespace opyard
