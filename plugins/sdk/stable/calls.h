#pragma once

#include <array>

#include "plugins/sdk/stable/lists.h"

OPYARD_STABLE_BEGIN

// How many values a result type stands for, how they are packed, and how they are taken.
template <typename R>
struct ResultOf {
  static constexpr uint32_t kCount = 1;
  static std::string schema() { return TypeOf<R>::schema(); }
  static void pack(const R& result, opyard_value* out) {
    out[0] = TypeOf<R>::make(result).detach();
  }
  static R take(Value* values) { return TypeOf<R>::read(values[0].raw()); }
};
template <>
struct ResultOf<void> {
  static constexpr uint32_t kCount = 0;
  static std::string schema() { return ""; }
  static void take(Value*) {}
};
template <>
struct ResultOf<Tensor&> : ResultOf<Tensor> {};
template <typename... Ts>
struct ResultOf<std::tuple<Ts...>> {
  static constexpr uint32_t kCount = sizeof...(Ts);
  static std::string schema() {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + TypeOf<std::remove_cvref_t<Ts>>::schema()), ...);
    return text;
  }
  static void pack(const std::tuple<Ts...>& results, opyard_value* out) {
    std::apply(
        [&](const auto&... each) {
          ((*out++ = TypeOf<std::remove_cvref_t<decltype(each)>>::make(each).detach()), ...);
        },
        results);
  }
  static std::tuple<Ts...> take(Value* values) {
    return take_each(values, std::index_sequence_for<Ts...>());
  }

 private:
  template <size_t... I>
  static std::tuple<Ts...> take_each([[maybe_unused]] Value* values, std::index_sequence<I...>) {
    return {TypeOf<Ts>::read(values[I].raw())...};
  }
};

// An operator of the host, called by name:
//   const auto sum = Op("aten::add.Tensor").call<Tensor>(x, y, Scalar(1));
// Arguments are those of the schema, all of them, in its order. Within a kernel, Op belongs into
// the kernel or its plugin's start: no operator may be looked up while the plugin is being mapped.
class Op {
 public:
  // Raises NOT_FOUND naming the nearest, UNIMPLEMENTED in a host without the extension.
  explicit Op(std::string_view name) {
    require(the_host.calls != nullptr, Code::kUnimplemented,
            "this host offers no extension opyard.calls");
    ask(the_host.calls->find, as_str(name), &op_);
  }

  template <typename R, typename... A>
  R call(const A&... arguments) const {
    const std::array<Value, sizeof...(A)> in = {TypeOf<std::remove_cvref_t<A>>::make(arguments)...};
    std::array<Value, ResultOf<R>::kCount + 1> out;
    ask(the_host.calls->call, op_, reinterpret_cast<const opyard_value*>(in.data()),
        static_cast<uint32_t>(in.size()), reinterpret_cast<opyard_value*>(out.data()),
        ResultOf<R>::kCount);
    return ResultOf<R>::take(out.data());
  }

 private:
  opyard_op op_ = nullptr;
};

inline Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  return Op("aten::clone").call<Tensor>(*this, MemoryFormat::kContiguous);
}

// The call that a kernel is in: what it takes as its first argument when it asks for it.
class Call {
 public:
  explicit Call(const opyard_call& call) : call_(call) {}
  uint64_t keys() const noexcept { return call_.keys; }
  // Goes on with the same operator below the kernel's own key, or below the key named.
  template <typename R, typename... A>
  R redispatch(const A&... arguments) const {
    return redispatch_below<R>({}, arguments...);
  }
  template <typename R, typename... A>
  R redispatch_below(std::string_view key, const A&... arguments) const {
    require(the_host.calls != nullptr, Code::kUnimplemented,
            "this host offers no extension opyard.calls");
    uint64_t keys = 0;
    ask(the_host.calls->keys_below, &call_, as_str(key), &keys);
    const std::array<Value, sizeof...(A)> in = {TypeOf<std::remove_cvref_t<A>>::make(arguments)...};
    std::array<Value, ResultOf<R>::kCount + 1> out;
    ask(the_host.calls->redispatch, &call_, keys, reinterpret_cast<const opyard_value*>(in.data()),
        static_cast<uint32_t>(in.size()), reinterpret_cast<opyard_value*>(out.data()),
        ResultOf<R>::kCount);
    return ResultOf<R>::take(out.data());
  }

 private:
  const opyard_call& call_;
};

OPYARD_STABLE_END
