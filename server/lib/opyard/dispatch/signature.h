#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "opyard/dispatch/boxing.h"
#include "opyard/dispatch/schema.h"

namespace opyard {

// What the dispatcher keeps of a C++ signature R(A…), so that one copy of the glue serves every
// kernel that has it. Plain pointers; the code they point to lives where the signature was used.
struct SignatureInfo {
  const char* mangled = nullptr;         // of R(A…); equal exactly when the types are
  const void* pass_down = nullptr;       // typed autograd fallback
  const void* from_typed = nullptr;      // calls a boxed kernel from a typed call
  BoxedFn boxed = nullptr;               // calls a typed kernel boxed
  FunctionSchema (*schema)() = nullptr;  // argument and return types, without names
  int by_reference = -1;                 // see first_by_reference(); such a signature is refused
};

// Builds a schema whose arguments are named _0, _1, …
using SchemaTypeFn = SchemaType (*)();
FunctionSchema schema_from_types(ArrayRef<SchemaTypeFn> arguments, ArrayRef<SchemaTypeFn> returns);

namespace detail {

template <typename R>
struct ReturnTypes {
  static constexpr std::array<SchemaTypeFn, 1> list() {
    return {&KernelType<std::remove_cvref_t<R>>::schema};
  }
};
template <>
struct ReturnTypes<void> {
  static constexpr std::array<SchemaTypeFn, 0> list() { return {}; }
};
template <typename... Ts>
struct ReturnTypes<std::tuple<Ts...>> {
  static constexpr std::array<SchemaTypeFn, sizeof...(Ts)> list() {
    return {&KernelType<std::remove_cvref_t<Ts>>::schema...};
  }
};

template <typename R, typename... A>
FunctionSchema inferred_schema() {
  const std::array<SchemaTypeFn, sizeof...(A)> arguments = {
      &KernelType<std::remove_cvref_t<A>>::schema...};
  const auto returns = ReturnTypes<R>::list();
  return schema_from_types(arguments, returns);
}

}  // namespace detail

// The autograd fallback: the same operator below all Autograd keys.
template <typename R, typename... A>
R pass_down(Keys keys, A... arguments) {
  return invoke<R, A...>(keys.with(keys.set - kAutogradKeys), std::forward<A>(arguments)...);
}

template <typename Signature>
struct SignatureOf;
template <typename R, typename... A>
struct SignatureOf<R(A...)> {
  static SignatureInfo info() noexcept {
    return {typeid(R(A...)).name(),
            reinterpret_cast<const void*>(&pass_down<R, A...>),
            reinterpret_cast<const void*>(&call_boxed_kernel<R, A...>),
            &CallTypedBoxed<R, A...>::call,
            &detail::inferred_schema<R, A...>,
            first_by_reference<A...>()};
  }
};

// Raises INVALID_ARGUMENT ("mismatch") for a signature of the operator with plain values taken by
// reference: it would be another one than that of all who pass them by value. `place` is whose it
// is.
void check_by_value(std::string_view op, const SignatureInfo& signature, std::string_view place);

// "Tensor (Tensor const&, long)", for messages: without our namespace and the standard library's
// longhand.
std::string demangle(const char* mangled);

// For tensors among a kernel's arguments, in lists too: StorageImpl::check_usable().
inline void check_memory_of(const Tensor& tensor) {
  if (tensor.defined()) tensor.storage()->check_usable();
}
template <typename T>
void check_memory_of(const T& argument) {
  if constexpr (requires { argument.has_value(); }) {
    if (argument.has_value()) check_memory_of(*argument);
  } else if constexpr (requires { argument.begin(), argument.end(); }) {
    using Element = std::remove_cvref_t<decltype(*argument.begin())>;
    if constexpr (std::is_same_v<Element, Tensor> || requires(Element e) { e.has_value(); }) {
      for (const auto& each : argument) check_memory_of(each);
    }
  }
}

// Makes R(*)(Keys, A…) out of what a person writes: a function pointer known at compile time or a
// lambda without captures, with or without Keys in front.
template <typename F>
struct KernelTraits;
template <typename R, typename... A>
struct KernelTraits<R (*)(Keys, A...)> {
  using Signature = R(A...);
  template <typename F>
  static R call(Keys keys, A... arguments) {
    return F()(keys, std::forward<A>(arguments)...);
  }
  static constexpr bool kTakesKeys = true;
};
template <typename R, typename... A>
struct KernelTraits<R (*)(A...)> {
  using Signature = R(A...);
  template <typename F>
  static R call(Keys, A... arguments) {
    return F()(std::forward<A>(arguments)...);
  }
  static constexpr bool kTakesKeys = false;
};
template <typename C, typename R, typename... A>
struct KernelTraits<R (C::*)(A...) const> : KernelTraits<R (*)(A...)> {};

// A function known at compile time, as an object: m.impl("add.Tensor", OPYARD_FN(my_add)).
template <auto Function>
struct Fn {
  template <typename... A>
  decltype(auto) operator()(A&&... arguments) const {
    return Function(std::forward<A>(arguments)...);
  }
};
#define OPYARD_FN(function) (::opyard::Fn<&function>{})

}  // namespace opyard
