#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "opyard/core/ivalue.h"
#include "opyard/dispatch/observer.h"
#include "opyard/dispatch/table.h"

// Boxing and unboxing, generated once per signature. Argument types of typed kernels:
//   Tensor         const Tensor&                      Tensor(a!)  Tensor&
//   Tensor?        const std::optional<Tensor>&       Tensor[]    ArrayRef<Tensor> (TensorList)
//   Tensor?[]      ArrayRef<std::optional<Tensor>>    Scalar      const Scalar&
//   int, SymInt    int64_t                            int[]       ArrayRef<int64_t> (IntList)
//   float  double   bool  bool   str  std::string_view   complex  std::complex<double>
//   float[] ArrayRef<double>     bool[] ArrayRef<bool>
//   ScalarType, Device, Layout, MemoryFormat by value;  Generator?  const IntrusivePtr<Generator>&
//   T? of a plain type  std::optional<T>  (Scalar?: const std::optional<Scalar>&)
// Returns: void, Tensor, Tensor& (in place: the first argument; out: the last), a plain type,
// std::vector<Tensor>, std::tuple of Tensor, or std::tuple of Tensor& (out).

namespace opyard {

// Holds what a kernel's argument refers to while the kernel runs.
template <typename T>
struct Unboxed {
  static_assert(sizeof(T) == 0,
                "no schema type has this C++ type; see the list at the top of dispatch/boxing.h "
                "(numbers are int64_t and double, by value)");
};

#define OPYARD_UNBOX(type, read)                       \
  template <>                                          \
  struct Unboxed<type> {                               \
    explicit Unboxed(const IValue& v) : value(read) {} \
    type get() const { return value; }                 \
    type value;                                        \
  };
OPYARD_UNBOX(int64_t, v.to_int())
OPYARD_UNBOX(double, v.to_double())
OPYARD_UNBOX(bool, v.to_bool())
OPYARD_UNBOX(std::complex<double>, v.to_complex())
OPYARD_UNBOX(std::string_view, v.to_string_view())
OPYARD_UNBOX(ScalarType, v.to_dtype())
OPYARD_UNBOX(Device, v.to_device())
OPYARD_UNBOX(Layout, v.to_layout())
OPYARD_UNBOX(MemoryFormat, v.to_memory_format())
OPYARD_UNBOX(ArrayRef<int64_t>, v.to_int_list())
OPYARD_UNBOX(ArrayRef<double>, v.to_double_list())
OPYARD_UNBOX(ArrayRef<bool>, v.to_bool_list())
OPYARD_UNBOX(ArrayRef<Tensor>, v.to_tensor_list())
#undef OPYARD_UNBOX

template <typename T>
struct Unboxed<std::optional<T>> {
  explicit Unboxed(const IValue& v) {
    if (!v.is_none()) value.emplace(Unboxed<T>(v).get());
  }
  std::optional<T> get() const { return value; }
  std::optional<T> value;
};
template <>
struct Unboxed<const Tensor&> {
  explicit Unboxed(const IValue& v) : value(v.to_tensor()) {}
  const Tensor& get() const { return value; }
  const Tensor& value;
};
template <>
struct Unboxed<Tensor&> {
  explicit Unboxed(const IValue& v) : value(v.to_tensor()) {}
  Tensor& get() { return value; }
  Tensor value;
};
template <>
struct Unboxed<const std::optional<Tensor>&> {
  explicit Unboxed(const IValue& v) {
    if (!v.is_none()) value = v.to_tensor();
  }
  const std::optional<Tensor>& get() const { return value; }
  std::optional<Tensor> value;
};
template <>
struct Unboxed<const Scalar&> {
  explicit Unboxed(const IValue& v) : value(v.to_scalar()) {}
  const Scalar& get() const { return value; }
  Scalar value;
};
template <>
struct Unboxed<const std::optional<Scalar>&> {
  explicit Unboxed(const IValue& v) {
    if (!v.is_none()) value = v.to_scalar();
  }
  const std::optional<Scalar>& get() const { return value; }
  std::optional<Scalar> value;
};
template <>
struct Unboxed<const IntrusivePtr<Generator>&> {
  explicit Unboxed(const IValue& v) {
    if (!v.is_none()) value = v.to_generator();
  }
  const IntrusivePtr<Generator>& get() const { return value; }
  IntrusivePtr<Generator> value;
};
template <>
struct Unboxed<ArrayRef<std::optional<Tensor>>> {
  explicit Unboxed(const IValue& v) : value(v.to_optional_tensor_list()) {}
  ArrayRef<std::optional<Tensor>> get() const { return value; }
  std::vector<std::optional<Tensor>> value;
};

template <typename T>
IValue box(const T& value) {
  return IValue(value);
}
inline IValue box(ArrayRef<std::optional<Tensor>> values) {
  std::vector<IValue> list(values.begin(), values.end());
  return IValue::list(list);
}

// How many values a C++ return type stands for, and how they are packed into `out`.
template <typename R>
struct Results {
  static constexpr uint32_t kCount = 1;
  static void pack(R result, IValue* out) { out[0] = IValue(std::move(result)); }
};
template <>
struct Results<void> {
  static constexpr uint32_t kCount = 0;
};
template <>
struct Results<Tensor&> {
  static constexpr uint32_t kCount = 1;
  static void pack(Tensor& result, IValue* out) { out[0] = IValue(Tensor(result)); }
};
template <typename... Ts>
struct Results<std::tuple<Ts...>> {
  static constexpr uint32_t kCount = sizeof...(Ts);
  static void pack(std::tuple<Ts...> results, IValue* out) {
    std::apply([&](auto&... each) { ((*out++ = IValue(Tensor(each))), ...); }, results);
  }
};

// Raises INVALID_ARGUMENT; for a boxed call with the wrong number of values.
[[noreturn]] void raise_count(Keys keys, uint32_t got, uint32_t wanted);

// Calls the typed kernel of signature R(Keys, A…) with boxed values.
template <typename R, typename... A>
struct CallTypedBoxed {
  static void call(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                   uint32_t) {
    if (n_in != sizeof...(A)) raise_count(keys, n_in, sizeof...(A));
    unpack(kernel.typed, keys, in, out, std::index_sequence_for<A...>());
  }

 private:
  template <size_t... I>
  static void unpack(const void* typed, Keys keys, [[maybe_unused]] const IValue* in,
                     [[maybe_unused]] IValue* out, std::index_sequence<I...>) {
    const auto function = reinterpret_cast<R (*)(Keys, A...)>(const_cast<void*>(typed));
    std::tuple<Unboxed<A>...> arguments{Unboxed<A>(in[I])...};
    if constexpr (std::is_void_v<R>) {
      function(keys, std::get<I>(arguments).get()...);
    } else {
      Results<R>::pack(function(keys, std::get<I>(arguments).get()...), out);
    }
  }
};

// Reads the result of a boxed kernel as R; `arguments` are those of the typed call, of which the
// first may be the one that an in-place operator writes to.
template <typename R, bool kFirstIsWritten, typename... A>
R unpack_results([[maybe_unused]] IValue* out, [[maybe_unused]] std::tuple<A&...> arguments) {
  if constexpr (std::is_void_v<R>) {
    return;
  } else if constexpr (std::is_same_v<R, Tensor&>) {
    return std::get < kFirstIsWritten ? 0 : sizeof...(A) - 1 > (arguments);
  } else if constexpr (std::is_same_v<R, Tensor>) {
    return out[0].to_tensor();
  } else if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
    return out[0].to_tensor_list().vec();
  } else if constexpr (std::is_same_v<R, Scalar>) {
    return out[0].to_scalar();
  } else if constexpr (requires { std::tuple_size<R>::value; }) {
    constexpr size_t count = std::tuple_size_v<R>;
    return [&]<size_t... I>(std::index_sequence<I...>) {
      if constexpr (std::is_lvalue_reference_v<std::tuple_element_t<0, R>>) {
        return R(std::get<sizeof...(A) - count + I>(arguments)...);
      } else {
        return R(out[I].to_tensor()...);
      }
    }
    (std::make_index_sequence<count>());
  } else {
    return Unboxed<R>(out[0]).get();
  }
}

// What stands in a table where a typed call meets a kernel without typed form: boxes the arguments.
template <typename R, typename... A>
R call_boxed_kernel(Keys keys, A... arguments) {
  const Kernel& kernel = keys.table->kernel(keys.set);
  constexpr uint32_t n_out = Results<R>::kCount;
  const std::array<IValue, sizeof...(A)> in = {box(arguments)...};
  std::array<IValue, n_out == 0 ? 1 : n_out> out;
  kernel.boxed(kernel, keys, in.data(), sizeof...(A), out.data(), n_out);
  constexpr bool first_is_written =
      std::is_same_v<std::tuple_element_t<0, std::tuple<A..., void>>, Tensor&>;
  return unpack_results<R, first_is_written>(
      out.data(),
      std::tuple<std::remove_cvref_t<A>&...>(const_cast<std::remove_cvref_t<A>&>(arguments)...));
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
