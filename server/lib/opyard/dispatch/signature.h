#pragma once

#include <initializer_list>
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
};

template <typename T>
struct SchemaTypeOf;
#define OPYARD_TYPE(cpp, ...)                                   \
  template <>                                                   \
  struct SchemaTypeOf<cpp> {                                    \
    static SchemaType get() { return SchemaType{__VA_ARGS__}; } \
  };
OPYARD_TYPE(Tensor, BaseType::kTensor)
OPYARD_TYPE(std::optional<Tensor>, BaseType::kTensor, true)
OPYARD_TYPE(ArrayRef<Tensor>, BaseType::kTensor, false, true)
OPYARD_TYPE(std::vector<Tensor>, BaseType::kTensor, false, true)
OPYARD_TYPE(ArrayRef<std::optional<Tensor>>, BaseType::kTensor, true, true)
OPYARD_TYPE(int64_t, BaseType::kInt)
OPYARD_TYPE(double, BaseType::kFloat)
OPYARD_TYPE(bool, BaseType::kBool)
OPYARD_TYPE(std::complex<double>, BaseType::kComplex)
OPYARD_TYPE(std::string_view, BaseType::kString)
OPYARD_TYPE(std::string, BaseType::kString)
OPYARD_TYPE(Scalar, BaseType::kScalar)
OPYARD_TYPE(ScalarType, BaseType::kScalarType)
OPYARD_TYPE(Device, BaseType::kDevice)
OPYARD_TYPE(Layout, BaseType::kLayout)
OPYARD_TYPE(MemoryFormat, BaseType::kMemoryFormat)
OPYARD_TYPE(IntrusivePtr<Generator>, BaseType::kGenerator, true)
OPYARD_TYPE(ArrayRef<int64_t>, BaseType::kInt, false, true)
OPYARD_TYPE(std::vector<int64_t>, BaseType::kInt, false, true)
OPYARD_TYPE(ArrayRef<double>, BaseType::kFloat, false, true)
OPYARD_TYPE(ArrayRef<bool>, BaseType::kBool, false, true)
#undef OPYARD_TYPE
template <typename T>
struct SchemaTypeOf<std::optional<T>> {
  static SchemaType get() {
    SchemaType type = SchemaTypeOf<T>::get();
    (type.is_list ? type.list_optional : type.element_optional) = true;
    return type;
  }
};

// Builds a schema whose arguments are named _0, _1, …
FunctionSchema schema_from_types(std::initializer_list<SchemaType> arguments,
                                 std::initializer_list<SchemaType> returns);

template <typename R>
struct SchemaReturns {
  template <typename... A>
  static FunctionSchema get() {
    return schema_from_types({SchemaTypeOf<std::remove_cvref_t<A>>::get()...},
                             {SchemaTypeOf<std::remove_cvref_t<R>>::get()});
  }
};
template <>
struct SchemaReturns<void> {
  template <typename... A>
  static FunctionSchema get() {
    return schema_from_types({SchemaTypeOf<std::remove_cvref_t<A>>::get()...}, {});
  }
};
template <typename... Ts>
struct SchemaReturns<std::tuple<Ts...>> {
  template <typename... A>
  static FunctionSchema get() {
    return schema_from_types({SchemaTypeOf<std::remove_cvref_t<A>>::get()...},
                             {SchemaTypeOf<std::remove_cvref_t<Ts>>::get()...});
  }
};

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
    return {typeid(R(A...)).name(), reinterpret_cast<const void*>(&pass_down<R, A...>),
            reinterpret_cast<const void*>(&call_boxed_kernel<R, A...>),
            &CallTypedBoxed<R, A...>::call, &SchemaReturns<R>::template get<A...>};
  }
};

// "Tensor (const Tensor&, long)", for messages.
std::string demangle(const char* mangled);

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
