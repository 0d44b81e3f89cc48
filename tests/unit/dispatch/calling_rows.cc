#include <memory>

#include "calling_types.h"
#include "opyard/core/dict.h"

namespace opyard::test {
namespace {

// What an argument is given back as: a result owns what it holds.
template <typename T>
struct ResultFor {
  using type = T;
};
template <>
struct ResultFor<std::string_view> {
  using type = std::string;
};
template <>
struct ResultFor<Generator> {
  using type = IntrusivePtr<Generator>;
};
template <typename T>
struct ResultFor<ArrayRef<T>> {
  using type = std::vector<typename ResultFor<T>::type>;
};
template <>
struct ResultFor<ArrayRef<bool>> {
  using type = IValue;
};
template <typename T>
struct ResultFor<std::vector<T>> {
  using type = std::vector<typename ResultFor<T>::type>;
};
template <typename T>
struct ResultFor<std::optional<T>> {
  using type = std::optional<typename ResultFor<T>::type>;
};
template <>
struct ResultFor<std::optional<ArrayRef<bool>>> {
  using type = IValue;
};
template <typename A>
using Result = typename ResultFor<std::remove_cvref_t<A>>::type;

template <typename R, typename T>
R give_back(const T& value) {
  if constexpr (std::is_same_v<R, IValue>) {
    return IValue(value);
  } else if constexpr (std::is_same_v<R, IntrusivePtr<Generator>> && std::is_same_v<T, Generator>) {
    return R::share(const_cast<Generator*>(&value));
  } else if constexpr (std::is_convertible_v<const T&, R> || std::is_constructible_v<R, const T&>) {
    return R(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? R(give_back<typename R::value_type>(*value)) : R();
  } else {
    R result;
    for (const auto& each : value) result.push_back(give_back<typename R::value_type>(each));
    return result;
  }
}

template <typename A>
struct Echo {
  using R = Result<A>;
  static R alone(A value) { return give_back<R>(value); }
  static std::tuple<Tensor, R> pair(Keys, const Tensor& x, A value) {
    return {x, give_back<R>(value)};
  }
};

void echo_boxed(const Kernel&, Keys, const IValue* in, uint32_t n_in, IValue* out, uint32_t n_out) {
  for (uint32_t i = 0; i < n_out; ++i) out[i] = in[n_in - n_out + i];
}

template <typename R, typename... A>
Stack call_typed(const Dispatcher& dispatcher, OperatorHandle op, const Stack& values) {
  Stack results(Results<R>::kCount);
  [&]<size_t... I>(std::index_sequence<I...>) {
    std::tuple<Unboxed<A>...> arguments{Unboxed<A>(values[I])...};
    Results<R>::pack(dispatcher.call<R, A...>(op, std::get<I>(arguments).get()...), results.data());
  }
  (std::index_sequence_for<A...>());
  return results;
}

// What a type has of its own; the rest is compiled once.
struct OfType {
  void (*add_kernels)(Library&);
  Stack (*call_f)(const Dispatcher&, OperatorHandle, const Stack&);
  Stack (*call_h)(const Dispatcher&, OperatorHandle, const Stack&);
  SchemaType argument;
  SchemaType result;
};

struct Operators {
  Operators(const std::string& type, const std::string& result, const OfType& own) : of_type(own) {
    registration = dispatcher.register_block(BlockKind::kDef, "t", "", [&](Library& m) {
      for (const char* kind : {"typed", "boxed"}) {
        m.def(str_cat("f.", kind, "(", type, " v) -> ", result));
        m.def(str_cat("h.", kind, "(Tensor x, ", type, " v) -> (Tensor, ", result, ")"));
      }
      own.add_kernels(m);
      for (const char* name : {"f.boxed", "h.boxed"}) m.impl(name, BoxedKernel{&echo_boxed});
    });
  }

  // Calls an operator typed and boxed; what comes back are the last values that went in.
  std::string call_both(const std::string& name, const Stack& values) const {
    const OperatorHandle op = dispatcher.get(name);
    const Stack typed =
        (values.size() == 1 ? of_type.call_f : of_type.call_h)(dispatcher, op, values);
    Stack boxed = values;
    dispatcher.call_boxed(op, boxed);
    for (const Stack* results : {&typed, static_cast<const Stack*>(&boxed)}) {
      const char* how = results == &typed ? " typed: " : " boxed: ";
      if (results->size() != values.size()) return str_cat(name, how, results->size(), " results");
      for (size_t i = 0; i < results->size(); ++i) {
        if (same_value((*results)[i], values[i])) continue;
        return str_cat(name, how, describe((*results)[i]), " instead of ", describe(values[i]));
      }
    }
    return {};
  }

  std::string call_all(const IValue& value) const {
    const Tensor x = make_tensor({1}, ScalarType::kFloat32);
    for (const std::string kind : {"typed", "boxed"}) {
      std::string wrong = call_both("t::f." + kind, {value});
      if (wrong.empty()) wrong = call_both("t::h." + kind, {IValue(x), value});
      if (!wrong.empty()) return wrong;
    }
    const std::string inferred = to_string(dispatcher.get("t::inferred").schema());
    const std::string wanted = str_cat("t::inferred(Tensor _0, ", to_string(of_type.argument),
                                       " _1) -> (Tensor _0, ", to_string(of_type.result), " _1)");
    if (inferred != wanted) return inferred + " instead of " + wanted;
    const auto count = x.unsafe_impl()->use_count();
    return count == 1 ? "" : str_cat("the tensor has ", count, " references instead of 1");
  }

  const OfType of_type;
  Dispatcher dispatcher;
  Registration registration;
};

TypeRow make_row(const std::string& type, const std::string& result, const OfType& own) {
  const auto operators = std::make_shared<const Operators>(type, result, own);
  return {type, [operators](const IValue& value) { return operators->call_all(value); }};
}

template <typename A>
TypeRow row(const std::string& type, const std::string& result = {}) {
  using R = Result<A>;
  static_assert(is_kernel_argument<A> && is_kernel_result<R>);
  const auto add = [](Library& m) {
    m.impl("f.typed", OPYARD_FN(Echo<A>::alone));
    m.impl("h.typed", OPYARD_FN(Echo<A>::pair));
    m.def("inferred", OPYARD_FN(Echo<A>::pair));
  };
  return make_row(type, result.empty() ? type : result,
                  {add, &call_typed<R, A>, &call_typed<std::tuple<Tensor, R>, const Tensor&, A>,
                   KernelType<std::remove_cvref_t<A>>::schema(), KernelType<R>::schema()});
}

}  // namespace

const std::vector<TypeRow>& type_rows() {
  using std::optional;
  using std::string;
  using std::string_view;
  using std::vector;
  static const std::vector<TypeRow> rows = {
      row<const Tensor&>("Tensor"),
      row<Tensor>("Tensor"),
      row<int64_t>("int"),
      row<int64_t>("SymInt"),
      row<double>("float"),
      row<bool>("bool"),
      row<std::complex<double>>("complex"),
      row<string_view>("str"),
      row<string>("str"),
      row<const string&>("str"),
      row<const Scalar&>("Scalar"),
      row<Scalar>("Scalar"),
      row<ScalarType>("ScalarType"),
      row<Device>("Device"),
      row<Layout>("Layout"),
      row<MemoryFormat>("MemoryFormat"),
      row<Generator&>("Generator", "Generator?"),
      row<const IntrusivePtr<Generator>&>("Generator?"),
      row<const IValue&>("Any"),

      row<const optional<Tensor>&>("Tensor?"),
      row<optional<Tensor>>("Tensor?"),
      row<optional<int64_t>>("int?"),
      row<optional<double>>("float?"),
      row<optional<bool>>("bool?"),
      row<optional<std::complex<double>>>("complex?"),
      row<optional<string_view>>("str?"),
      row<const optional<string>&>("str?"),
      row<const optional<Scalar>&>("Scalar?"),
      row<optional<ScalarType>>("ScalarType?"),
      row<optional<Device>>("Device?"),
      row<optional<Layout>>("Layout?"),
      row<optional<MemoryFormat>>("MemoryFormat?"),
      row<optional<ArrayRef<int64_t>>>("int[]?"),
      row<optional<ArrayRef<double>>>("float[]?"),
      row<optional<ArrayRef<bool>>>("bool[]?", "Any"),
      row<optional<ArrayRef<Tensor>>>("Tensor[]?"),
      row<const optional<vector<string>>&>("str[]?"),

      row<ArrayRef<Tensor>>("Tensor[]"),
      row<const vector<Tensor>&>("Tensor[]"),
      row<vector<Tensor>>("Tensor[]"),
      row<ArrayRef<optional<Tensor>>>("Tensor?[]"),
      row<const vector<optional<Tensor>>&>("Tensor?[]"),
      row<ArrayRef<int64_t>>("int[]"),
      row<ArrayRef<int64_t>>("SymInt[]"),
      row<const vector<int64_t>&>("int[]"),
      row<vector<int64_t>>("int[]"),
      row<ArrayRef<double>>("float[]"),
      row<vector<double>>("float[]"),
      row<ArrayRef<bool>>("bool[]", "Any"),
      row<ArrayRef<string_view>>("str[]"),
      row<const vector<string>&>("str[]"),
      row<ArrayRef<std::complex<double>>>("complex[]"),
      row<ArrayRef<ScalarType>>("ScalarType[]"),
      row<ArrayRef<Device>>("Device[]"),
      row<ArrayRef<Layout>>("Layout[]"),
      row<ArrayRef<MemoryFormat>>("MemoryFormat[]"),
      row<ArrayRef<IntrusivePtr<Generator>>>("Generator?[]"),
      row<vector<IValue>>("Any[]"),
      row<ArrayRef<optional<int64_t>>>("int?[]"),
      row<ArrayRef<optional<bool>>>("bool?[]"),
      row<const vector<optional<string>>&>("str?[]"),

      row<std::array<int64_t, 3>>("int[3]"),
      row<const std::array<double, 3>&>("float[3]"),
      row<std::array<bool, 3>>("bool[3]"),
      row<std::array<Tensor, 2>>("Tensor[2]"),
      row<const std::array<optional<Tensor>, 2>&>("Tensor?[2]"),
      row<std::array<string, 2>>("str[2]"),

      row<const vector<vector<int64_t>>&>("int[][]"),
      row<ArrayRef<ArrayRef<int64_t>>>("int[][]"),
      row<vector<vector<Tensor>>>("Tensor[][]"),
      row<const vector<optional<vector<int64_t>>>&>("int[]?[]"),
      row<vector<vector<optional<string>>>>("str?[][]"),
      row<vector<vector<vector<double>>>>("float[][][]"),
      row<vector<std::array<bool, 2>>>("bool[2][]"),

      row<const Dict<string, Tensor>&>("Dict(str, Tensor)"),
      row<Dict<int64_t, string>>("Dict(int, str)"),
      row<Dict<double, vector<int64_t>>>("Dict(float, int[])"),
      row<Dict<bool, optional<double>>>("Dict(bool, float?)"),
      row<const optional<Dict<string, int64_t>>&>("Dict(str, int)?"),
      row<vector<Dict<int64_t, string>>>("Dict(int, str)[]"),
      row<Dict<string, Dict<int64_t, double>>>("Dict(str, Dict(int, float))"),
      row<Dict<string, vector<optional<Dict<int64_t, string>>>>>("Dict(str, Dict(int, str)?[])"),
  };
  return rows;
}

}  // namespace opyard::test
