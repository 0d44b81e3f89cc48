#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/core/generator.h"
#include "opyard/core/tensor.h"
#include "opyard_plugin.h"

namespace opyard {

enum class Tag : uint32_t {
  kNone = OPYARD_NONE,
  kBool = OPYARD_BOOL,
  kInt = OPYARD_INT,
  kDouble = OPYARD_DOUBLE,
  kComplex = OPYARD_COMPLEX,
  kString = OPYARD_STR,
  kTensor = OPYARD_TENSOR,
  kDevice = OPYARD_DEVICE,
  kDtype = OPYARD_DTYPE,
  kLayout = OPYARD_LAYOUT,
  kMemoryFormat = OPYARD_MEMORY_FORMAT,
  kGenerator = OPYARD_GENERATOR,
  kStream = OPYARD_STREAM,
  kList = OPYARD_LIST,
  kTuple = OPYARD_TUPLE,
  kSymInt = OPYARD_SYM_INT,
  kSymFloat = OPYARD_SYM_FLOAT,
  kSymBool = OPYARD_SYM_BOOL,
  kStorage = OPYARD_STORAGE,
  kDict = OPYARD_DICT,
};

// "Tensor", "int", "list of Tensor": for messages.
std::string_view to_string(Tag tag) noexcept;

// Any value that an operator takes or gives, boxed: the 16 bytes of the C interface's tagged value,
// which it can be read as. A copy shares what lies behind; lists and dicts are immutable once
// built. Reading one as a type that it does not hold raises INVALID_ARGUMENT saying what was got
// and wanted.
class IValue {
 public:
  IValue() noexcept : value_{OPYARD_NONE, 0, 0} {}
  IValue(std::nullopt_t) noexcept : IValue() {}
  IValue(bool value) noexcept : value_{OPYARD_BOOL, 0, value} {}
  IValue(int64_t value) noexcept : value_{OPYARD_INT, 0, static_cast<uint64_t>(value)} {}
  IValue(int value) noexcept : IValue(int64_t{value}) {}
  IValue(double value) noexcept : value_{OPYARD_DOUBLE, 0, std::bit_cast<uint64_t>(value)} {}
  IValue(std::complex<double> value);
  IValue(const Scalar& value);
  IValue(std::string_view value);
  IValue(const char* value) : IValue(std::string_view(value)) {}
  IValue(const std::string& value) : IValue(std::string_view(value)) {}
  IValue(Tensor value) noexcept
      : value_{OPYARD_TENSOR, 0, reinterpret_cast<uint64_t>(value.detach_impl())} {}
  IValue(Device value) noexcept
      : value_{OPYARD_DEVICE, static_cast<uint32_t>(value.type),
               static_cast<uint64_t>(int64_t{value.index})} {}
  IValue(ScalarType value) noexcept : value_{OPYARD_DTYPE, 0, static_cast<uint64_t>(value)} {}
  IValue(Layout value) noexcept : value_{OPYARD_LAYOUT, 0, static_cast<uint64_t>(value)} {}
  IValue(MemoryFormat value) noexcept
      : value_{OPYARD_MEMORY_FORMAT, 0, static_cast<uint64_t>(value)} {}
  IValue(const IntrusivePtr<Generator>& value) noexcept;  // null is None
  IValue(ArrayRef<int64_t> values);
  IValue(const std::vector<int64_t>& values) : IValue(ArrayRef<int64_t>(values)) {}
  IValue(const Dims& values) : IValue(ArrayRef<int64_t>(values)) {}
  IValue(ArrayRef<double> values);
  IValue(ArrayRef<bool> values);
  IValue(ArrayRef<Tensor> values);
  IValue(const std::vector<Tensor>& values) : IValue(ArrayRef<Tensor>(values)) {}
  template <typename T>
  IValue(const std::optional<T>& value) : IValue() {
    if (value) *this = IValue(*value);
  }
  static IValue list(ArrayRef<IValue> values);  // elements of any kind
  static IValue tuple(ArrayRef<IValue> values);
  // Key, value, key, value, …
  static IValue dict(ArrayRef<IValue> keys_and_values);

  IValue(const IValue& other) noexcept : value_(other.value_) { retain(); }
  IValue(IValue&& other) noexcept : value_(std::exchange(other.value_, {OPYARD_NONE, 0, 0})) {}
  IValue& operator=(IValue other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~IValue() {
    if (value_.tag >= OPYARD_COMPLEX) release();
  }

  Tag tag() const noexcept { return static_cast<Tag>(value_.tag); }
  bool is_none() const noexcept { return value_.tag == OPYARD_NONE; }
  bool is(Tag tag) const noexcept { return this->tag() == tag; }
  bool is_list_of(Tag element) const noexcept {
    return is(Tag::kList) && value_.aux == static_cast<uint32_t>(element);
  }
  // A bool, int, double or complex.
  bool is_scalar() const noexcept {
    return value_.tag >= OPYARD_BOOL && value_.tag <= OPYARD_COMPLEX;
  }

  bool to_bool() const {
    expect(Tag::kBool);
    return value_.payload != 0;
  }
  int64_t to_int() const {
    expect(Tag::kInt);
    return static_cast<int64_t>(value_.payload);
  }
  double to_double() const;  // an int is taken too
  std::complex<double> to_complex() const;
  Scalar to_scalar() const;
  std::string_view to_string_view() const;
  // The tensor where it lies: valid as long as this value.
  const Tensor& to_tensor() const {
    if (value_.tag != OPYARD_TENSOR) [[unlikely]]
      raise_wrong_tag(Tag::kTensor);
    static_assert(sizeof(Tensor) == sizeof(value_.payload));
    const void* where = &value_.payload;
    return *static_cast<const Tensor*>(where);
  }
  Device to_device() const;
  ScalarType to_dtype() const;  // an int is taken too
  Layout to_layout() const;
  MemoryFormat to_memory_format() const;
  // Borrowed: valid as long as this value.
  Generator& to_generator() const;
  ArrayRef<int64_t> to_int_list() const;
  ArrayRef<double> to_double_list() const;
  ArrayRef<bool> to_bool_list() const;
  ArrayRef<Tensor> to_tensor_list() const;
  ArrayRef<IValue> to_list() const;  // generic lists and tuples
  ArrayRef<IValue> to_dict() const;  // key, value, key, value, …
  // Elements of any list, boxed one by one.
  std::vector<IValue> elements() const;
  // Of a list, tuple or dict (keys and values together); 0 for anything else.
  size_t list_size() const noexcept;

  const opyard_value& raw() const noexcept { return value_; }
  // Takes over what the raw value owns.
  static IValue adopt(opyard_value raw) noexcept {
    IValue value;
    value.value_ = raw;
    return value;
  }
  opyard_value detach() noexcept { return std::exchange(value_, {OPYARD_NONE, 0, 0}); }

 private:
  [[noreturn, gnu::cold]] void raise_wrong_tag(Tag wanted) const;
  void expect(Tag wanted) const {
    if (!is(wanted)) [[unlikely]]
      raise_wrong_tag(wanted);
  }
  void expect_list(Tag element) const;
  void retain() const noexcept;
  void release() noexcept;

  opyard_value value_;
};
static_assert(sizeof(IValue) == sizeof(opyard_value));

// What the value is, for messages: "int", "list of 3 Tensor", "float32[2] on cpu".
std::string describe(const IValue& value);

}  // namespace opyard
