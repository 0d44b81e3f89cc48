#pragma once

#include <tuple>

#include "opyard/dispatch/kernel_values.h"

// The C++ types of typed kernels, each with its schema type and its way into a boxed value and
// back:
//   Tensor             const Tensor&                   Tensor(a!)  Tensor&
//   int, SymInt        int64_t                         float       double
//   bool               bool                            complex     std::complex<double>
//   str                std::string_view, std::string   Scalar      const Scalar&
//   ScalarType, Device, Layout, MemoryFormat: of the same names, by value
//   Generator          Generator&                      Generator?  const IntrusivePtr<Generator>&
//   Any                const IValue&                   Dict(K, V)  const Dict<K, V>& (core/dict.h)
//   T?                 std::optional<T>
//   T[]                ArrayRef<T>, const std::vector<T>&;  T[N] also const std::array<T, N>&
// What is written with const& may be taken by value too; the rest is taken by value only. To the
// dispatcher each spelling is a signature of its own, so all kernels and callers of an operator use
// one. Types nest as in a schema: ArrayRef<std::optional<Tensor>> is Tensor?[].
// Results: void; Tensor& (in place: the first argument; out: the last); whatever owns what it
// holds; a std::tuple of these, or of Tensor& (the last arguments). Refused while compiling: float
// and other integers than int64_t (narrower than the schema's), const char*, std::vector<bool> (no
// bool lies in it), lists of Scalar, unordered maps.

namespace opyard {
namespace detail {

template <typename T>
inline constexpr bool kIsArrayRef = false;
template <typename T>
inline constexpr bool kIsArrayRef<ArrayRef<T>> = true;

template <typename A>
constexpr bool is_argument() {
  using T = std::remove_cvref_t<A>;
  if constexpr (std::is_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>) {
    return std::is_same_v<A, Tensor&> || std::is_same_v<A, Generator&>;
  } else if constexpr (std::is_volatile_v<std::remove_reference_t<A>>) {
    return false;
  } else {
    return BoxableType<T> && (ReadableType<T> || kIsArrayRef<T>);
  }
}

template <typename R>
inline constexpr bool kIsResult = OwningType<R> || std::is_void_v<R> || std::is_same_v<R, Tensor&>;
template <typename... Ts>
inline constexpr bool kIsResult<std::tuple<Ts...>> = (OwningType<Ts> && ...) ||
                                                     (std::is_same_v<Ts, Tensor&> && ...);

// Small types that are passed by value: const& would be another signature for the same thing.
template <typename T>
inline constexpr bool kByValue = std::is_trivially_copyable_v<T>;
template <>
inline constexpr bool kByValue<Scalar> = false;
template <>
inline constexpr bool kByValue<std::optional<Scalar>> = false;
template <typename T, size_t N>
inline constexpr bool kByValue<std::array<T, N>> = false;

}  // namespace detail

// Whether a typed kernel may take an A, or return an R.
template <typename A>
inline constexpr bool is_kernel_argument = detail::is_argument<A>();
template <typename R>
inline constexpr bool is_kernel_result = detail::kIsResult<R>;

// Position of the first argument that is taken by const& and has to be taken by value; -1: none.
template <typename... A>
constexpr int first_by_reference() {
  const bool wrong[] = {false,
                        (std::is_reference_v<A> && detail::kByValue<std::remove_cvref_t<A>> &&
                         std::is_const_v<std::remove_reference_t<A>>)...};
  for (int i = 1; i <= static_cast<int>(sizeof...(A)); ++i) {
    if (wrong[i]) return i - 1;
  }
  return -1;
}

}  // namespace opyard
