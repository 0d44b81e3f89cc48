#pragma once

#include "plugins/sdk/stable/calls.h"

OPYARD_STABLE_BEGIN

// A position in digits. std::to_string would bring a unique symbol.
inline std::string text_of(size_t position) {
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + position % 10));
    position /= 10;
  } while (position > 0);
  return text;
}

// An argument as a kernel of the C interface gets it, ready for the function.
template <typename A>
class ArgumentOf {
 public:
  explicit ArgumentOf(const opyard_value& value)
      : value_(TypeOf<std::remove_cvref_t<A>>::read(value)) {}
  A get() { return static_cast<A&&>(value_); }

 private:
  std::remove_cvref_t<A> value_;
};
template <>
class ArgumentOf<const Tensor&> {
 public:
  explicit ArgumentOf(const opyard_value& value) : value_(TypeOf<Tensor>::read(value)) {}
  const Tensor& get() const { return value_; }

 private:
  const Tensor& value_;
};

// A function as a boxed kernel: checks the number and the tags, calls, packs. No exception leaves.
template <auto Function, typename F = decltype(Function)>
struct Boxed;
template <auto Function, typename R, typename... A>
struct Boxed<Function, R (*)(const Call&, A...)> {
  static int32_t call(void*, opyard_call* call, const opyard_value* in, uint32_t n_in,
                      opyard_value* out, uint32_t n_out) noexcept {
    return guarded(the_host.host, call->status, [&] {
      require(n_in == sizeof...(A) && n_out == ResultOf<R>::kCount, Code::kInvalidArgument,
              "the kernel has another number of arguments or results than its operator");
      run(*call, in, out, std::index_sequence_for<A...>());
    });
  }
  // "(Tensor _0, float _1) -> (Tensor)"
  static std::string schema() {
    std::string text = "(";
    size_t position = 0;
    ((text +=
      (position ? ", " : "") + TypeOf<std::remove_cvref_t<A>>::schema() + " _" + text_of(position),
      ++position),
     ...);
    return text + ") -> (" + ResultOf<R>::schema() + ")";
  }

 private:
  template <typename T>
  static ArgumentOf<T> argument(const opyard_value* in, size_t position) {
    try {
      return ArgumentOf<T>(in[position]);
    } catch (const Error& error) {
      raise(error.code(), "argument " + text_of(position) + ": " + error.message());
    }
  }
  template <size_t... I>
  static void run(const opyard_call& call, [[maybe_unused]] const opyard_value* in,
                  [[maybe_unused]] opyard_value* out, std::index_sequence<I...>) {
    std::tuple<ArgumentOf<A>...> arguments{argument<A>(in, I)...};
    const Call own(call);
    if constexpr (std::is_void_v<R>) {
      Function(own, std::get<I>(arguments).get()...);
    } else {
      ResultOf<R>::pack(Function(own, std::get<I>(arguments).get()...), out);
    }
  }
};
// The same for a function that does not ask for its call.
template <auto Function, typename R, typename... A>
struct WithoutCall {
  static R run(const Call&, A... arguments) { return Function(std::forward<A>(arguments)...); }
};
template <auto Function, typename R, typename... A>
struct Boxed<Function, R (*)(A...)>
    : Boxed<&WithoutCall<Function, R, A...>::run, R (*)(const Call&, A...)> {};

OPYARD_STABLE_END
