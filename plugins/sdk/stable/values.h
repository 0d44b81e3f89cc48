#pragma once

#include <bit>
#include <complex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "plugins/sdk/stable/tensor.h"

// The C++ types that stand for types of a schema, each with its way out of a value and back:
//   Tensor  const Tensor&, Tensor       Tensor(a!)  Tensor&
//   int     int64_t                     float       double
//   bool    bool                        Scalar      const Scalar&
//   str     std::string_view, std::string            ScalarType  DType      Device  Device
//   MemoryFormat  MemoryFormat
//   T?      std::optional<T>
//   T[]     std::vector<T>; for int, float, bool and Tensor also std::span<const T>, without a copy
// Results: void, Tensor& (an argument), what owns what it holds, a std::tuple of these.

OPYARD_STABLE_BEGIN

// A number of any kind.
class Scalar {
 public:
  Scalar(bool value) : tag_(OPYARD_BOOL), bits_(value) {}
  Scalar(int64_t value) : tag_(OPYARD_INT), bits_(static_cast<uint64_t>(value)) {}
  Scalar(int value) : Scalar(int64_t{value}) {}
  Scalar(double value) : tag_(OPYARD_DOUBLE), bits_(std::bit_cast<uint64_t>(value)) {}
  Scalar(std::complex<double> value)
      : tag_(OPYARD_COMPLEX),
        bits_(std::bit_cast<uint64_t>(value.real())),
        imaginary_(value.imag()) {}

  bool is_floating() const noexcept { return tag_ == OPYARD_DOUBLE; }
  bool is_complex() const noexcept { return tag_ == OPYARD_COMPLEX; }
  // Raises INVALID_ARGUMENT for a complex number.
  double to_double() const {
    require(!is_complex(), Code::kInvalidArgument, "a complex number is no float");
    return tag_ == OPYARD_DOUBLE ? std::bit_cast<double>(bits_)
                                 : static_cast<double>(static_cast<int64_t>(bits_));
  }
  // Raises INVALID_ARGUMENT for what is no bool or int.
  int64_t to_int() const {
    require(tag_ == OPYARD_BOOL || tag_ == OPYARD_INT, Code::kInvalidArgument,
            "the number is no int");
    return static_cast<int64_t>(bits_);
  }
  std::complex<double> to_complex() const {
    return is_complex() ? std::complex<double>(std::bit_cast<double>(bits_), imaginary_)
                        : std::complex<double>(to_double());
  }

 private:
  friend struct ScalarValue;
  uint32_t tag_;
  uint64_t bits_;
  double imaginary_ = 0;
};

// For messages. A table of names here would be a unique symbol.
inline const char* name_of(uint32_t tag) {
  switch (tag) {
    case OPYARD_NONE:
      return "None";
    case OPYARD_BOOL:
      return "a bool";
    case OPYARD_INT:
      return "an int";
    case OPYARD_DOUBLE:
      return "a float";
    case OPYARD_COMPLEX:
      return "a complex number";
    case OPYARD_STR:
      return "a str";
    case OPYARD_TENSOR:
      return "a Tensor";
    case OPYARD_DEVICE:
      return "a Device";
    case OPYARD_DTYPE:
      return "a ScalarType";
    case OPYARD_LAYOUT:
      return "a Layout";
    case OPYARD_MEMORY_FORMAT:
      return "a MemoryFormat";
    case OPYARD_GENERATOR:
      return "a Generator";
    case OPYARD_LIST:
      return "a list";
    case OPYARD_TUPLE:
      return "a tuple";
    case OPYARD_DICT:
      return "a dict";
    default:
      return "something else";
  }
}

[[noreturn]] inline void wrong_value(const opyard_value& got, const std::string& wanted) {
  raise(Code::kInvalidArgument,
        std::string("got ") + name_of(got.tag) + " where " + wanted + " is wanted");
}

// The number of elements behind a value's address.
inline uint64_t count_of(const opyard_value& value) {
  if (value.payload == 0) return 0;
  uint64_t count = 0;
  __builtin_memcpy(&count, reinterpret_cast<const char*>(value.payload) - sizeof(count),
                   sizeof(count));
  return count;
}
template <typename T>
std::span<const T> elements_of(const opyard_value& value) {
  return {reinterpret_cast<const T*>(value.payload), count_of(value)};
}

// A value that releases what it owns.
class Value {
 public:
  Value() = default;
  explicit Value(opyard_value raw) : raw_(raw) {}
  Value(Value&& other) noexcept : raw_(other.detach()) {}
  Value& operator=(Value&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Value() {
    if (raw_.tag >= OPYARD_COMPLEX) the_host.tensors->value_release(&raw_);
  }
  const opyard_value& raw() const noexcept { return raw_; }
  opyard_value* room() noexcept { return &raw_; }
  opyard_value detach() noexcept { return std::exchange(raw_, {OPYARD_NONE, 0, 0}); }

 private:
  opyard_value raw_{OPYARD_NONE, 0, 0};
};
static_assert(sizeof(Value) == sizeof(opyard_value));

// How a C++ type is called in a schema, read from a borrowed value, and made into an owned one.
template <typename T>
struct TypeOf;

template <>
struct TypeOf<Tensor> {
  static std::string schema() { return "Tensor"; }
  // The tensor where it lies: nothing is counted.
  static const Tensor& read(const opyard_value& value) {
    if (value.tag != OPYARD_TENSOR) [[unlikely]]
      wrong_value(value, schema());
    const void* where = &value.payload;
    return *static_cast<const Tensor*>(where);
  }
  static Value make(Tensor tensor) { return Value({OPYARD_TENSOR, 0, tensor.detach()}); }
};

// Types that lie in the payload.
template <typename T, uint32_t Tag>
struct PlainType {
  static T read_plain(const opyard_value& value, const char* name) {
    if (value.tag != Tag) [[unlikely]]
      wrong_value(value, name);
    return static_cast<T>(value.payload);
  }
  static Value make(T value) { return Value({Tag, 0, static_cast<uint64_t>(value)}); }
};
template <>
struct TypeOf<int64_t> : PlainType<int64_t, OPYARD_INT> {
  static std::string schema() { return "int"; }
  static int64_t read(const opyard_value& value) { return read_plain(value, "int"); }
};
template <>
struct TypeOf<bool> : PlainType<bool, OPYARD_BOOL> {
  static std::string schema() { return "bool"; }
  static bool read(const opyard_value& value) { return read_plain(value, "bool"); }
};
template <>
struct TypeOf<DType> : PlainType<DType, OPYARD_DTYPE> {
  static std::string schema() { return "ScalarType"; }
  static DType read(const opyard_value& value) {
    if (value.tag == OPYARD_INT) return static_cast<DType>(value.payload);
    return read_plain(value, "ScalarType");
  }
};
template <>
struct TypeOf<MemoryFormat> : PlainType<MemoryFormat, OPYARD_MEMORY_FORMAT> {
  static std::string schema() { return "MemoryFormat"; }
  static MemoryFormat read(const opyard_value& value) { return read_plain(value, "MemoryFormat"); }
};
template <>
struct TypeOf<double> {
  static std::string schema() { return "float"; }
  static double read(const opyard_value& value) {
    if (value.tag == OPYARD_INT) return static_cast<double>(static_cast<int64_t>(value.payload));
    if (value.tag != OPYARD_DOUBLE) wrong_value(value, schema());
    return std::bit_cast<double>(value.payload);
  }
  static Value make(double value) {
    return Value({OPYARD_DOUBLE, 0, std::bit_cast<uint64_t>(value)});
  }
};
template <>
struct TypeOf<Device> {
  static std::string schema() { return "Device"; }
  static Device read(const opyard_value& value) {
    if (value.tag != OPYARD_DEVICE) wrong_value(value, schema());
    return {value.aux, static_cast<int32_t>(static_cast<int64_t>(value.payload))};
  }
  static Value make(Device device) {
    return Value({OPYARD_DEVICE, device.kind, static_cast<uint64_t>(int64_t{device.index})});
  }
};

struct ScalarValue {
  static std::string schema() { return "Scalar"; }
  static Scalar read(const opyard_value& value) {
    if (value.tag == OPYARD_BOOL) return Scalar(value.payload != 0);
    if (value.tag == OPYARD_INT) return Scalar(static_cast<int64_t>(value.payload));
    if (value.tag == OPYARD_DOUBLE) return Scalar(std::bit_cast<double>(value.payload));
    if (value.tag != OPYARD_COMPLEX || !value.payload) wrong_value(value, schema());
    const auto* parts = reinterpret_cast<const double*>(value.payload);
    return Scalar(std::complex<double>(parts[0], parts[1]));
  }
  static Value make(const Scalar& scalar) {
    if (!scalar.is_complex()) return Value({scalar.tag_, 0, scalar.bits_});
    Value made;
    ask(the_host.tensors->make_complex, scalar.to_complex().real(), scalar.to_complex().imag(),
        made.room());
    return made;
  }
};
template <>
struct TypeOf<Scalar> : ScalarValue {};

template <>
struct TypeOf<std::string_view> {
  static std::string schema() { return "str"; }
  static std::string_view read(const opyard_value& value) {
    if (value.tag != OPYARD_STR) wrong_value(value, schema());
    const auto bytes = elements_of<char>(value);
    return {bytes.data(), bytes.size()};
  }
  static Value make(std::string_view text) {
    Value made;
    ask(the_host.tensors->make_str, as_str(text), made.room());
    return made;
  }
};
template <>
struct TypeOf<std::string> : TypeOf<std::string_view> {
  static std::string read(const opyard_value& value) {
    return std::string(TypeOf<std::string_view>::read(value));
  }
};

template <typename T>
struct TypeOf<std::optional<T>> {
  static std::string schema() { return TypeOf<T>::schema() + "?"; }
  static std::optional<T> read(const opyard_value& value) {
    if (value.tag == OPYARD_NONE) return std::nullopt;
    return TypeOf<T>::read(value);
  }
  static Value make(const std::optional<T>& value) {
    return value ? TypeOf<T>::make(*value) : Value();
  }
};

OPYARD_STABLE_END

#include "plugins/sdk/stable/lists.h"
