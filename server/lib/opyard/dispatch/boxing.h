#pragma once

#include <array>
#include <tuple>

#include "opyard/dispatch/kernel_types.h"
#include "opyard/dispatch/observer.h"
#include "opyard/dispatch/table.h"

// Boxing and unboxing, generated once per signature of the C++ types in kernel_types.h.

namespace opyard {

// Raise INVALID_ARGUMENT naming the operator, for a boxed call with the wrong number of values, and
// for an argument of another type, from inside of a handler of the error that reading it raised.
[[noreturn, gnu::cold]] void raise_count(Keys keys, uint32_t got, uint32_t wanted, uint32_t n_out,
                                         uint32_t wanted_out);
[[noreturn, gnu::cold]] void raise_argument(const IValue& got, Keys keys, uint32_t position,
                                            SchemaType (*wanted)());
// Raises INTERNAL naming the kernel, for a boxed one that left a result of another type.
[[noreturn, gnu::cold]] void raise_result(const IValue& got, const Kernel& kernel, Keys keys,
                                          uint32_t position, SchemaType (*wanted)());

// Raises as raise_result does for the first result that is not of the type that the operator's
// definition gives it.
void check_results(const Kernel& kernel, Keys keys, const IValue* out, uint32_t n_out);

namespace detail {

template <typename T>
concept TaggedType = requires {
  KernelType<T>::kTag;
};

template <typename T>
[[gnu::noinline]] T read_argument_slowly(const IValue& value, Keys keys, uint32_t position) {
  try {
    return KernelType<T>::read(value);
  } catch (const Error&) {
    raise_argument(value, keys, position, &KernelType<T>::schema);
  }
}

template <typename T>
inline T read_argument(const IValue& value, Keys keys, uint32_t position) {
  if constexpr (TaggedType<T>) {
    if (!value.is(KernelType<T>::kTag)) [[unlikely]]
      raise_argument(value, keys, position, &KernelType<T>::schema);
    return KernelType<T>::read(value);
  } else {
    return read_argument_slowly<T>(value, keys, position);
  }
}

template <typename T>
[[gnu::noinline]] T take_result_slowly(const IValue& value, const Kernel& kernel, Keys keys,
                                       uint32_t position) {
  try {
    return KernelType<T>::read(value);
  } catch (const Error&) {
    raise_result(value, kernel, keys, position, &KernelType<T>::schema);
  }
}

template <typename T>
inline T take_result(IValue& value, const Kernel& kernel, Keys keys, uint32_t position) {
  if constexpr (TaggedType<T>) {
    if (!value.is(KernelType<T>::kTag)) [[unlikely]]
      raise_result(value, kernel, keys, position, &KernelType<T>::schema);
  }
  if constexpr (std::is_same_v<T, Tensor>) {
    return Tensor::adopt_impl(reinterpret_cast<TensorImpl*>(value.detach().payload));
  } else if constexpr (TaggedType<T>) {
    return KernelType<T>::read(value);
  } else {
    return take_result_slowly<T>(value, kernel, keys, position);
  }
}

inline void check_tensor(const IValue& value, const Kernel& kernel, Keys keys, uint32_t position) {
  if (!value.is(Tag::kTensor)) [[unlikely]]
    raise_result(value, kernel, keys, position, &KernelType<Tensor>::schema);
}

}  // namespace detail

// Holds what a kernel's argument refers to while the kernel runs. Where a boxed value is of another
// type, the error names the operator and the argument at `position`.
template <typename A>
class Unboxed {
  using T = std::remove_cvref_t<A>;
  static_assert(is_kernel_argument<A>,
                "a kernel cannot take this C++ type: see the list in dispatch/kernel_types.h "
                "(numbers are int64_t and double)");

 public:
  explicit Unboxed(const IValue& value, Keys keys = {}, uint32_t position = 0)
      : value_(detail::read_argument<T>(value, keys, position)) {}
  A get() { return static_cast<A&&>(value_); }

 private:
  T value_;
};

// A reference to the boxed value itself: nothing is counted.
template <>
class Unboxed<const Tensor&> {
 public:
  explicit Unboxed(const IValue& value, Keys keys = {}, uint32_t position = 0)
      : value_(read(value, keys, position)) {}
  const Tensor& get() const { return value_; }

 private:
  static const Tensor& read(const IValue& value, Keys keys, uint32_t position) {
    if (!value.is(Tag::kTensor)) [[unlikely]]
      raise_argument(value, keys, position, &KernelType<Tensor>::schema);
    return value.to_tensor();
  }
  const Tensor& value_;
};

template <>
class Unboxed<const IValue&> {
 public:
  explicit Unboxed(const IValue& value, Keys = {}, uint32_t = 0) : value_(value) {}
  const IValue& get() const { return value_; }

 private:
  const IValue& value_;
};

template <>
class Unboxed<Generator&> {
 public:
  explicit Unboxed(const IValue& value, Keys keys = {}, uint32_t position = 0)
      : value_(read(value, keys, position)) {}
  Generator& get() const { return value_; }

 private:
  static Generator& read(const IValue& value, Keys keys, uint32_t position) {
    if (!value.is(Tag::kGenerator) || value.raw().payload == 0) [[unlikely]]
      raise_argument(value, keys, position, &KernelType<Generator>::schema);
    return value.to_generator();
  }
  Generator& value_;
};

// A list that has to be put together.
template <typename T>
requires(BoxableType<ArrayRef<T>> && !detail::Contiguous<T>) class Unboxed<ArrayRef<T>> {
 public:
  explicit Unboxed(const IValue& value, Keys keys = {}, uint32_t position = 0)
      : values_(detail::read_argument<std::vector<T>>(value, keys, position)) {}
  ArrayRef<T> get() const { return values_; }

 private:
  std::vector<T> values_;
};

// How many values a C++ return type stands for, how they are packed into `out`, and how they are
// taken from what a boxed kernel left there; `arguments` are those of the typed call.
template <typename R>
struct Results {
  static_assert(is_kernel_result<R>,
                "a kernel cannot return this C++ type: results own what they hold; see the list in "
                "dispatch/kernel_types.h");
  static constexpr uint32_t kCount = 1;
  static void pack(R result, IValue* out) {
    if constexpr (std::is_same_v<R, Tensor>) {
      out[0] = IValue(std::move(result));
    } else {
      out[0] = KernelType<R>::box(result);
    }
  }
  template <typename... A>
  static R take(IValue* out, const Kernel& kernel, Keys keys, A&...) {
    return detail::take_result<R>(out[0], kernel, keys, 0);
  }
};
template <>
struct Results<void> {
  static constexpr uint32_t kCount = 0;
};
// The argument that was written to. What the kernel left as its result is looked at only for its
// type: callers get their own tensor back.
template <>
struct Results<Tensor&> {
  static constexpr uint32_t kCount = 1;
  static void pack(Tensor& result, IValue* out) { out[0] = IValue(result); }
  template <typename... A>
  static Tensor& take(IValue* out, const Kernel& kernel, Keys keys, A&... arguments) {
    detail::check_tensor(out[0], kernel, keys, 0);
    using Arguments = std::tuple<A&...>;
    static_assert(sizeof...(A) > 0, "a kernel that returns Tensor& takes one");
    constexpr bool is_in_place = std::is_same_v<std::tuple_element_t<0, Arguments>, Tensor&>;
    constexpr size_t which = is_in_place ? 0 : sizeof...(A) - 1;
    static_assert(std::is_same_v<std::tuple_element_t<which, Arguments>, Tensor&>,
                  "a kernel that returns Tensor& takes it first (in place) or last (out)");
    return std::get<which>(Arguments(arguments...));
  }
};
template <typename... Ts>
struct Results<std::tuple<Ts...>> {
  using R = std::tuple<Ts...>;
  static_assert(is_kernel_result<R>,
                "a kernel cannot return this tuple: its elements own what they hold, or all are "
                "Tensor&; see the list in dispatch/kernel_types.h");
  static constexpr uint32_t kCount = sizeof...(Ts);
  static void pack(R results, IValue* out) {
    std::apply([&](auto&... each) { (Results<Ts>::pack(static_cast<Ts&&>(each), out++), ...); },
               results);
  }
  template <typename... A>
  static R take(IValue* out, const Kernel& kernel, Keys keys, A&... arguments) {
    return take_each(std::index_sequence_for<Ts...>(), out, kernel, keys, std::tie(arguments...));
  }

 private:
  template <size_t... I, typename... A>
  static R take_each(std::index_sequence<I...>, IValue* out, const Kernel& kernel, Keys keys,
                     [[maybe_unused]] std::tuple<A&...> arguments) {
    if constexpr ((std::is_reference_v<Ts> && ...) && sizeof...(Ts) > 0) {
      (detail::check_tensor(out[I], kernel, keys, I), ...);
      return R(std::get<sizeof...(A) - sizeof...(Ts) + I>(arguments)...);
    } else {
      return R{detail::take_result<Ts>(out[I], kernel, keys, I)...};
    }
  }
};

// Calls the typed kernel of signature R(Keys, A…) with boxed values.
template <typename R, typename... A>
struct CallTypedBoxed {
  static void call(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                   uint32_t n_out) {
    if (n_in != sizeof...(A) || n_out < Results<R>::kCount) [[unlikely]]
      raise_count(keys, n_in, sizeof...(A), n_out, Results<R>::kCount);
    unpack(kernel.typed, keys, in, out, std::index_sequence_for<A...>());
  }

 private:
  template <size_t... I>
  static void unpack(const void* typed, Keys keys, [[maybe_unused]] const IValue* in,
                     [[maybe_unused]] IValue* out, std::index_sequence<I...>) {
    const auto function = reinterpret_cast<R (*)(Keys, A...)>(const_cast<void*>(typed));
    std::tuple<Unboxed<A>...> arguments{Unboxed<A>(in[I], keys, I)...};
    if constexpr (std::is_void_v<R>) {
      function(keys, std::get<I>(arguments).get()...);
    } else {
      Results<R>::pack(function(keys, std::get<I>(arguments).get()...), out);
    }
  }
};

// Calls a kernel boxed with the arguments of a typed call.
template <typename R, typename... A>
[[gnu::always_inline]] inline R call_kernel_boxed(const Kernel& kernel, Keys keys, A... arguments) {
  constexpr uint32_t n_out = Results<R>::kCount;
  const std::array<IValue, sizeof...(A)> in = {
      KernelType<std::remove_cvref_t<A>>::box(arguments)...};
  std::array<IValue, n_out == 0 ? 1 : n_out> out;
  kernel.boxed(kernel, keys, in.data(), sizeof...(A), out.data(), n_out);
  if constexpr (!std::is_void_v<R>) return Results<R>::take(out.data(), kernel, keys, arguments...);
}

// What stands in a table where a typed call meets a kernel without typed form: boxes the arguments.
template <typename R, typename... A>
R call_boxed_kernel(Keys keys, A... arguments) {
  return call_kernel_boxed<R, A...>(keys.table->kernel(keys.set), keys,
                                    std::forward<A>(arguments)...);
}

// Sends a typed call to the kernel that `keys` select in its table; nobody is told.
template <typename R, typename... A>
inline R invoke_unobserved(Keys keys, A... arguments) {
  const void* typed = keys.table->typed[keys.set.entry()];
  const auto function = reinterpret_cast<R (*)(Keys, A...)>(const_cast<void*>(typed));
  return function(keys, std::forward<A>(arguments)...);
}

template <typename R, typename... A>
[[gnu::noinline]] R invoke_observed(CallLabel label, Keys keys, A... arguments) {
  const ObservedCall call(label, keys);
  return invoke_unobserved<R, A...>(keys, std::forward<A>(arguments)...);
}

// Goes on with a call that is under way, at the keys given: a redispatch.
template <typename R, typename... A>
inline R invoke(Keys keys, A... arguments) {
  if (calls_are_observed()) [[unlikely]] {
    return invoke_observed<R, A...>(CallLabel::kRedispatch, keys, std::forward<A>(arguments)...);
  }
  return invoke_unobserved<R, A...>(keys, std::forward<A>(arguments)...);
}

}  // namespace opyard
