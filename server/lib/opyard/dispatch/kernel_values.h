#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/core/ivalue.h"
#include "opyard/dispatch/schema.h"

namespace opyard {

template <typename K, typename V>
class Dict;

// For a supported T: schema(), box(value), kBorrows (it refers to memory of the boxed value), and
// read(boxed) where a T can be read in place; kTag where one tag alone says that it can.
template <typename T>
struct KernelType {};

template <typename T>
concept BoxableType = requires {
  KernelType<T>::schema();
};
template <typename T>
concept ReadableType = requires(const IValue& value) {
  KernelType<T>::read(value);
};

#define OPYARD_KERNEL_TYPE(T, base, borrows, read_it, ...)       \
  template <>                                                    \
  struct KernelType<T> {                                         \
    static constexpr bool kBorrows = borrows;                    \
    __VA_ARGS__                                                  \
    static SchemaType schema() { return {BaseType::base}; }      \
    static IValue box(const T& value) { return IValue(value); }  \
    static T read(const IValue& value) { return value.read_it; } \
  }
#define OPYARD_TAG(tag) static constexpr Tag kTag = Tag::tag;
OPYARD_KERNEL_TYPE(Tensor, kTensor, false, to_tensor(), OPYARD_TAG(kTensor));
OPYARD_KERNEL_TYPE(int64_t, kInt, false, to_int(), OPYARD_TAG(kInt));
OPYARD_KERNEL_TYPE(bool, kBool, false, to_bool(), OPYARD_TAG(kBool));
OPYARD_KERNEL_TYPE(double, kFloat, false, to_double());
OPYARD_KERNEL_TYPE(std::complex<double>, kComplex, false, to_complex());
OPYARD_KERNEL_TYPE(Scalar, kScalar, false, to_scalar());
OPYARD_KERNEL_TYPE(std::string_view, kString, true, to_string_view());
OPYARD_KERNEL_TYPE(ScalarType, kScalarType, false, to_dtype());
OPYARD_KERNEL_TYPE(Device, kDevice, false, to_device());
OPYARD_KERNEL_TYPE(Layout, kLayout, false, to_layout());
OPYARD_KERNEL_TYPE(MemoryFormat, kMemoryFormat, false, to_memory_format());
#undef OPYARD_TAG
#undef OPYARD_KERNEL_TYPE

template <>
struct KernelType<std::string> {
  static constexpr bool kBorrows = false;
  static SchemaType schema() { return {BaseType::kString}; }
  static IValue box(const std::string& value) { return IValue(value); }
  static std::string read(const IValue& value) { return std::string(value.to_string_view()); }
};
template <>
struct KernelType<IValue> {
  static constexpr bool kBorrows = false;
  static SchemaType schema() { return {BaseType::kAny}; }
  static IValue box(const IValue& value) { return value; }
  static IValue read(const IValue& value) { return value; }
};
// Null is None.
template <>
struct KernelType<IntrusivePtr<Generator>> {
  static constexpr bool kBorrows = false;
  static SchemaType schema() { return {BaseType::kGenerator, true}; }
  static IValue box(const IntrusivePtr<Generator>& value) { return IValue(value); }
  static IntrusivePtr<Generator> read(const IValue& value) {
    if (value.is_none()) return nullptr;
    return IntrusivePtr<Generator>::share(&value.to_generator());
  }
};
// Only as Generator&.
template <>
struct KernelType<Generator> {
  static constexpr bool kBorrows = true;
  static SchemaType schema() { return {BaseType::kGenerator}; }
  static IValue box(Generator& value) { return IValue(IntrusivePtr<Generator>::share(&value)); }
};

namespace detail {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// May stand behind "?".
template <typename T>
concept OptionalElement = ReadableType<T> && !kIsOptional<T> && !std::is_same_v<T, IValue> &&
                          !std::is_same_v<T, IntrusivePtr<Generator>>;
// May stand before "[]".
template <typename T>
concept ListElement =
    ReadableType<T> && !std::is_same_v<T, Scalar> && !std::is_same_v<T, std::optional<Scalar>>;
// Lists of these are arrays of them.
template <typename T>
concept Contiguous = std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
    std::is_same_v<T, bool> || std::is_same_v<T, Tensor>;
template <typename T>
concept DictKey = std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
    std::is_same_v<T, bool> || std::is_same_v<T, std::string>;

template <typename T>
concept OwningType = ReadableType<T> && !KernelType<T>::kBorrows;

SchemaType optional_of(SchemaType element);
SchemaType list_of(SchemaType element);
SchemaType dict_of(SchemaType key, SchemaType value);
// The elements of a list, boxed; `room` holds them where they are not boxed yet.
ArrayRef<IValue> list_elements(const IValue& list, std::vector<IValue>* room);
[[noreturn]] void raise_list_size(const IValue& got, size_t wanted);
[[noreturn]] void raise_repeated_key(const IValue& key);

template <Contiguous T>
ArrayRef<T> read_contiguous(const IValue& list) {
  if constexpr (std::is_same_v<T, int64_t>) return list.to_int_list();
  if constexpr (std::is_same_v<T, double>) return list.to_double_list();
  if constexpr (std::is_same_v<T, bool>) return list.to_bool_list();
  if constexpr (std::is_same_v<T, Tensor>) return list.to_tensor_list();
}

template <typename T>
std::vector<T> read_vector(const IValue& list) {
  if constexpr (Contiguous<T>) {
    return read_contiguous<T>(list).vec();
  } else {
    std::vector<IValue> room;
    const ArrayRef<IValue> elements = list_elements(list, &room);
    std::vector<T> result;
    result.reserve(elements.size());
    for (const IValue& element : elements) result.push_back(KernelType<T>::read(element));
    return result;
  }
}

template <typename T>
IValue box_list(ArrayRef<T> values) {
  if constexpr (Contiguous<T>) {
    return IValue(values);
  } else {
    std::vector<IValue> list;
    list.reserve(values.size());
    for (const T& value : values) list.push_back(KernelType<T>::box(value));
    return IValue::list(list);
  }
}

}  // namespace detail

template <detail::OptionalElement T>
struct KernelType<std::optional<T>> {
  static constexpr bool kBorrows = KernelType<T>::kBorrows;
  static SchemaType schema() { return detail::optional_of(KernelType<T>::schema()); }
  static IValue box(const std::optional<T>& value) {
    return value ? KernelType<T>::box(*value) : IValue();
  }
  static std::optional<T> read(const IValue& value) {
    if (value.is_none()) return std::nullopt;
    return KernelType<T>::read(value);
  }
};

template <detail::ListElement T>
requires(!std::is_same_v<T, bool>) struct KernelType<std::vector<T>> {
  static constexpr bool kBorrows = KernelType<T>::kBorrows;
  static SchemaType schema() { return detail::list_of(KernelType<T>::schema()); }
  static IValue box(const std::vector<T>& values) { return detail::box_list<T>(values); }
  static std::vector<T> read(const IValue& list) { return detail::read_vector<T>(list); }
};

// Lists that do not lie in a boxed value as they are have no read(): Unboxed holds them.
template <detail::ListElement T>
struct KernelType<ArrayRef<T>> {
  static constexpr bool kBorrows = true;
  static SchemaType schema() { return detail::list_of(KernelType<T>::schema()); }
  static IValue box(ArrayRef<T> values) { return detail::box_list<T>(values); }
  static ArrayRef<T> read(const IValue& list) requires detail::Contiguous<T> {
    return detail::read_contiguous<T>(list);
  }
};

template <detail::ListElement T, size_t N>
struct KernelType<std::array<T, N>> {
  static constexpr bool kBorrows = KernelType<T>::kBorrows;
  static SchemaType schema() { return detail::list_of(KernelType<T>::schema()); }
  static IValue box(const std::array<T, N>& values) { return detail::box_list<T>(values); }
  static std::array<T, N> read(const IValue& list) {
    std::array<T, N> result{};
    const auto take = [&](auto&& values) {
      if (values.size() != N) detail::raise_list_size(list, N);
      std::move(values.begin(), values.end(), result.begin());
    };
    if constexpr (detail::Contiguous<T>) {
      take(detail::read_contiguous<T>(list));
    } else {
      take(detail::read_vector<T>(list));
    }
    return result;
  }
};

template <detail::DictKey K, detail::OwningType V>
struct KernelType<Dict<K, V>> {
  static constexpr bool kBorrows = false;
  static SchemaType schema() {
    return detail::dict_of(KernelType<K>::schema(), KernelType<V>::schema());
  }
  static IValue box(const Dict<K, V>& dict) {
    std::vector<IValue> items;
    items.reserve(2 * dict.size());
    for (const auto& [key, value] : dict) {
      items.push_back(KernelType<K>::box(key));
      items.push_back(KernelType<V>::box(value));
    }
    return IValue::dict(items);
  }
  static Dict<K, V> read(const IValue& boxed) {
    Dict<K, V> dict;
    const ArrayRef<IValue> items = boxed.to_dict();
    for (size_t i = 0; i < items.size(); i += 2) {
      if (!dict.insert_or_assign(KernelType<K>::read(items[i]), KernelType<V>::read(items[i + 1])))
        detail::raise_repeated_key(items[i]);
    }
    return dict;
  }
};

}  // namespace opyard
