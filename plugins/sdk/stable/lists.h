#pragma once

#include "plugins/sdk/stable/values.h"

OPYARD_STABLE_BEGIN

// Elements that lie in a row in a list's block: the tag of such a list, and how one is made.
template <typename T>
struct RowOf;
template <>
struct RowOf<int64_t> {
  static constexpr uint32_t kTag = OPYARD_INT;
  static void make(std::span<const int64_t> values, opyard_value* made) {
    ask(the_host.tensors->make_ints, values.data(), uint64_t{values.size()}, made);
  }
};
template <>
struct RowOf<double> {
  static constexpr uint32_t kTag = OPYARD_DOUBLE;
  static void make(std::span<const double> values, opyard_value* made) {
    ask(the_host.tensors->make_doubles, values.data(), uint64_t{values.size()}, made);
  }
};
template <>
struct RowOf<bool> {
  static constexpr uint32_t kTag = OPYARD_BOOL;
  static_assert(sizeof(bool) == 1);
  static void make(std::span<const bool> values, opyard_value* made) {
    ask(the_host.tensors->make_bools, reinterpret_cast<const uint8_t*>(values.data()),
        uint64_t{values.size()}, made);
  }
};
template <>
struct RowOf<Tensor> {
  static constexpr uint32_t kTag = OPYARD_TENSOR;
  static void make(std::span<const Tensor> values, opyard_value* made) {
    ask(the_host.tensors->make_tensors, reinterpret_cast<const opyard_tensor*>(values.data()),
        uint64_t{values.size()}, made);
  }
};
template <typename T>
concept InARow = requires {
  RowOf<T>::kTag;
};

template <InARow T>
struct TypeOf<std::span<const T>> {
  static std::string schema() { return TypeOf<T>::schema() + "[]"; }
  static std::span<const T> read(const opyard_value& value) {
    if (value.tag != OPYARD_LIST || (value.aux != RowOf<T>::kTag && count_of(value) != 0)) {
      wrong_value(value, "a list of " + TypeOf<T>::schema());
    }
    return elements_of<T>(value);
  }
  static Value make(std::span<const T> values) {
    Value made;
    RowOf<T>::make(values, made.room());
    return made;
  }
};

// One element of any list, as a borrowed value.
inline opyard_value element(const opyard_value& list, uint64_t at) {
  switch (list.aux) {
    case OPYARD_NONE:
      return elements_of<opyard_value>(list)[at];
    case OPYARD_BOOL:
      return {list.aux, 0, elements_of<uint8_t>(list)[at]};
    case OPYARD_INT:
    case OPYARD_DOUBLE:
    case OPYARD_TENSOR:
      return {list.aux, 0, elements_of<uint64_t>(list)[at]};
    default:
      raise(Code::kInvalidArgument, "a list of a kind that this plugin does not know");
  }
}

template <typename T>
struct TypeOf<std::vector<T>> {
  static_assert(!std::is_same_v<T, bool>, "no bool lies in a std::vector<bool>; take a std::span");
  static std::string schema() { return TypeOf<T>::schema() + "[]"; }
  static std::vector<T> read(const opyard_value& value) {
    if constexpr (InARow<T>) {
      if (value.tag == OPYARD_LIST && value.aux == RowOf<T>::kTag) {
        const auto row = elements_of<T>(value);
        return {row.begin(), row.end()};
      }
    }
    if (value.tag != OPYARD_LIST) wrong_value(value, "a list of " + TypeOf<T>::schema());
    std::vector<T> values;
    const uint64_t count = count_of(value);
    values.reserve(count);
    for (uint64_t i = 0; i < count; ++i) values.push_back(TypeOf<T>::read(element(value, i)));
    return values;
  }
  static Value make(const std::vector<T>& values) {
    if constexpr (InARow<T>) {
      return TypeOf<std::span<const T>>::make(std::span<const T>(values));
    } else {
      std::vector<Value> owned;
      for (const T& each : values) owned.push_back(TypeOf<T>::make(each));
      Value made;
      ask(the_host.tensors->make_values, uint32_t{OPYARD_LIST},
          reinterpret_cast<const opyard_value*>(owned.data()), uint64_t{owned.size()}, made.room());
      return made;
    }
  }
};

OPYARD_STABLE_END
