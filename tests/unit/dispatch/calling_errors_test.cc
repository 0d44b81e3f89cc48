#include <unordered_map>

#include "opyard/core/dict.h"
#include "support.h"

namespace opyard {
namespace {

using enum DispatchKey;
using std::optional;
using std::string;
using std::vector;
using testing::error_of;
using testing::one;

// What kernels may not take or give.
static_assert(!is_kernel_argument<float> && !is_kernel_result<float>);
static_assert(!is_kernel_argument<int> && !is_kernel_result<int>);
static_assert(!is_kernel_argument<int8_t> && !is_kernel_argument<uint64_t>);
static_assert(!is_kernel_argument<short> && !is_kernel_argument<char>);
static_assert(!is_kernel_argument<const char*> && !is_kernel_result<const char*>);
static_assert(!is_kernel_argument<vector<bool>> && !is_kernel_result<vector<bool>>);
static_assert(!is_kernel_argument<const vector<bool>&>);
static_assert(!is_kernel_argument<std::unordered_map<string, int64_t>>);
static_assert(!is_kernel_argument<Dict<Scalar, int64_t>> && !is_kernel_result<Dict<Tensor, bool>>);
static_assert(!is_kernel_argument<vector<Scalar>> && !is_kernel_argument<ArrayRef<Scalar>>);
static_assert(!is_kernel_argument<std::array<Scalar, 2>> && !is_kernel_result<vector<Scalar>>);
static_assert(!is_kernel_argument<vector<optional<Scalar>>>);
static_assert(!is_kernel_argument<vector<float>> && !is_kernel_argument<ArrayRef<int>>);
static_assert(!is_kernel_argument<optional<float>> &&
              !is_kernel_argument<optional<optional<bool>>>);
static_assert(!is_kernel_argument<int64_t&> && !is_kernel_argument<vector<Tensor>&>);
static_assert(!is_kernel_argument<Generator> && !is_kernel_argument<const Generator&>);
static_assert(!is_kernel_argument<Tensor*> && !is_kernel_argument<void>);
// A result owns what it holds.
static_assert(!is_kernel_result<std::string_view> && !is_kernel_result<ArrayRef<int64_t>>);
static_assert(!is_kernel_result<vector<std::string_view>> && !is_kernel_result<const Tensor&>);
static_assert(!is_kernel_result<std::tuple<Tensor&, Tensor>>);
static_assert(!is_kernel_result<std::tuple<Tensor, float>>);
static_assert(is_kernel_result<void> && is_kernel_result<Tensor&> && is_kernel_result<Tensor>);
static_assert(is_kernel_result<std::tuple<>> && is_kernel_result<std::tuple<Tensor&, Tensor&>>);
static_assert(is_kernel_result<std::tuple<vector<Tensor>, optional<double>, string>>);
static_assert(is_kernel_argument<const int64_t&>);  // compiles; registration refuses it

static_assert(first_by_reference<const Tensor&, int64_t, const Scalar&>() == -1);
static_assert(first_by_reference<const Tensor&, const int64_t&>() == 1);
static_assert(first_by_reference<const ArrayRef<int64_t>&>() == 0);
static_assert(first_by_reference<const optional<double>&>() == 0);
static_assert(first_by_reference<const optional<Scalar>&, const vector<int64_t>&>() == -1);

void expect_facts(const string& message, std::initializer_list<std::string_view> facts) {
  for (const std::string_view fact : facts) {
    EXPECT_NE(message.find(fact), string::npos) << "'" << fact << "' is not in: " << message;
  }
}

struct CallingErrors : testing::CallFixture {};

// A value of another type, for each way of reading one.
template <typename A>
void expect_wrong_argument(const string& type, const vector<IValue>& values) {
  Dispatcher dispatcher;
  const auto registration = dispatcher.register_block(BlockKind::kDef, "t", "", [&](Library& m) {
    m.def("f(Tensor x, " + type + " thing) -> ()");
    m.impl("f", [](const Tensor&, A) {});
  });
  for (const IValue& value : values) {
    const Tensor x = one();
    Stack stack = {IValue(x), value};
    const string message = error_of([&] { dispatcher.call_boxed(dispatcher.get("t::f"), stack); },
                                    Code::kInvalidArgument);
    expect_facts(message, {"'t::f'", "expected a value of type " + type + " ", "'thing'",
                           "position 1", "got " + describe(value)});
    EXPECT_EQ(stack.size(), 2u);
    stack.clear();
    EXPECT_EQ(x.unsafe_impl()->use_count(), 1u);
  }
}

TEST(CallingWrongArguments, NameOperatorArgumentAndTypes) {
  const IValue text("x");
  const IValue ints(vector<int64_t>{1, 2});
  const IValue none;
  const IValue texts = IValue::list(vector<IValue>{text});
  const IValue odd = IValue::dict(vector<IValue>{text, IValue(1)});
  expect_wrong_argument<const Tensor&>("Tensor", {none, IValue(1), ints});
  expect_wrong_argument<Tensor>("Tensor", {none, text});
  expect_wrong_argument<int64_t>("int", {none, text, IValue(1.5), IValue(true), ints});
  expect_wrong_argument<double>("float", {none, text, IValue(true)});
  expect_wrong_argument<bool>("bool", {none, IValue(1), text});
  expect_wrong_argument<std::complex<double>>("complex", {none, text});
  expect_wrong_argument<std::string_view>("str", {none, IValue(1)});
  expect_wrong_argument<const string&>("str", {none, IValue(1)});
  expect_wrong_argument<const Scalar&>("Scalar", {none, text});
  expect_wrong_argument<ScalarType>("ScalarType", {none, text, IValue(99)});
  expect_wrong_argument<Device>("Device", {none, IValue(1)});
  expect_wrong_argument<Layout>("Layout", {none, IValue(1)});
  expect_wrong_argument<MemoryFormat>("MemoryFormat", {none, IValue(1)});
  expect_wrong_argument<Generator&>("Generator", {none, IValue(1)});
  expect_wrong_argument<const IntrusivePtr<Generator>&>("Generator?", {IValue(1)});
  expect_wrong_argument<const optional<Tensor>&>("Tensor?", {IValue(1), ints});
  expect_wrong_argument<optional<int64_t>>("int?", {text});
  expect_wrong_argument<const optional<Scalar>&>("Scalar?", {text});
  expect_wrong_argument<ArrayRef<int64_t>>("int[]", {none, IValue(1), texts, odd});
  expect_wrong_argument<ArrayRef<double>>("float[]", {ints, none});
  expect_wrong_argument<ArrayRef<bool>>("bool[]", {ints, none});
  expect_wrong_argument<TensorList>("Tensor[]", {ints, none, IValue(one())});
  expect_wrong_argument<ArrayRef<optional<Tensor>>>("Tensor?[]", {ints, none});
  expect_wrong_argument<optional<ArrayRef<int64_t>>>("int[]?", {texts});
  expect_wrong_argument<ArrayRef<std::string_view>>("str[]", {ints, text});
  expect_wrong_argument<std::array<int64_t, 3>>("int[]", {ints, none});
  expect_wrong_argument<vector<vector<int64_t>>>("int[][]", {ints, texts});
  expect_wrong_argument<const Dict<string, string>&>("Dict(str, str)", {odd, none, texts});
}

TEST(CallingWrongArguments, InsideOfAListTheElementIsToldToo) {
  Dispatcher dispatcher;
  const auto registration = dispatcher.register_block(BlockKind::kDef, "t", "", [&](Library& m) {
    m.def("f(str[] names) -> ()").impl("f", [](const vector<string>&) {});
    m.def("g(Dict(str, int) d) -> ()").impl("g", [](const Dict<string, int64_t>&) {});
  });
  const auto message = [&](const char* op, const IValue& value) {
    Stack stack = {value};
    return error_of([&] { dispatcher.call_boxed(dispatcher.get(op), stack); },
                    Code::kInvalidArgument);
  };
  expect_facts(message("t::f", IValue::list(vector<IValue>{IValue("a"), IValue(3)})),
               {"str[]", "'names'", "list of 2", "got int 3 where str is wanted"});
  const vector<IValue> twice = {IValue("a"), IValue(1), IValue("a"), IValue(2)};
  expect_facts(message("t::g", IValue::dict(twice)), {"'d'", "dict of 2", "'a' stands twice"});
}

TEST_F(CallingErrors, SymbolicNumbersAreRefused) {
  const auto op = define("f(SymInt n, SymInt[] s) -> SymInt", [](Library& m) {
    m.impl("f", [](int64_t n, ArrayRef<int64_t> s) { return n + s[0]; });
  });
  const vector<int64_t> list = {5};
  EXPECT_EQ((dispatcher.call<int64_t, int64_t, ArrayRef<int64_t>>(op, 2, list)), 7);
  Stack stack = {IValue(2), IValue(list)};
  dispatcher.call_boxed(op, stack);
  EXPECT_EQ(stack.at(0).to_int(), 7);
  stack = {IValue::adopt({OPYARD_SYM_INT, 0, 0x1234}), IValue(list)};
  expect_facts(error_of([&] { dispatcher.call_boxed(op, stack); }, Code::kInvalidArgument),
               {"'t::f'", "'n'", "got SymInt", "pass a concrete one"});
}

// What a boxed kernel leaves that a typed caller cannot take.
template <typename R>
void expect_wrong_result(const string& type, const IValue& left) {
  static IValue result;
  result = left;
  Dispatcher dispatcher;
  const auto registration = dispatcher.register_block(BlockKind::kDef, "t", "", [&](Library& m) {
    m.def("f(Tensor x) -> " + type).def("g(Tensor x) -> (Tensor, " + type + ")");
    m.impl("f", CPU,
           BoxedKernel{[](const Kernel&, Keys, const IValue*, uint32_t, IValue* out, uint32_t) {
             out[0] = result;
           }});
    m.impl("g", CPU,
           BoxedKernel{[](const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
             out[0] = in[0];
             out[1] = result;
           }});
    m.label("culprit");
  });
  const Tensor x = one();
  const std::string_view got = left.is_none() ? "None" : "str 'x'";
  const auto f = [&] { dispatcher.call<R, const Tensor&>(dispatcher.get("t::f"), x); };
  expect_facts(error_of(f, Code::kInternal), {"'t::f'", "CPU", "calling_errors_test.cc", "left ",
                                              got, "position 0", "wanted a value of type " + type});
  const auto g = [&] {
    dispatcher.call<std::tuple<Tensor, R>, const Tensor&>(dispatcher.get("t::g"), x);
  };
  expect_facts(error_of(g, Code::kInternal),
               {"'t::g'", "culprit", "position 1", "wanted a value of type " + type});
  EXPECT_EQ(x.unsafe_impl()->use_count(), 1u);
}

TEST(CallingWrongResults, NameTheKernelAndTheTypes) {
  for (const IValue& left : {IValue(), IValue("x")}) {
    expect_wrong_result<Tensor>("Tensor", left);
    expect_wrong_result<int64_t>("int", left);
    expect_wrong_result<double>("float", left);
    expect_wrong_result<bool>("bool", left);
    expect_wrong_result<Scalar>("Scalar", left);
    expect_wrong_result<Device>("Device", left);
    expect_wrong_result<vector<Tensor>>("Tensor[]", left);
    expect_wrong_result<vector<optional<Tensor>>>("Tensor?[]", left);
    expect_wrong_result<vector<int64_t>>("int[]", left);
    expect_wrong_result<vector<string>>("str[]", left);
    expect_wrong_result<std::array<bool, 2>>("bool[]", left);
    expect_wrong_result<Dict<string, Tensor>>("Dict(str, Tensor)", left);
  }
  expect_wrong_result<string>("str", IValue());
  expect_wrong_result<optional<Tensor>>("Tensor?", IValue("x"));
  expect_wrong_result<IntrusivePtr<Generator>>("Generator?", IValue("x"));
}

TEST_F(CallingErrors, InPlaceAndOutKernelsLeaveATensor) {
  const BoxedKernel lazy{[](const Kernel&, Keys, const IValue*, uint32_t, IValue*, uint32_t) {}};
  auto op = define("f(Tensor(a!) self) -> Tensor(a!)", [&](Library& m) { m.impl("f", CPU, lazy); });
  Tensor x = one();
  expect_facts(error_of([&] { dispatcher.call<Tensor&, Tensor&>(op, x); }, Code::kInternal),
               {"left None", "position 0", "Tensor"});
  registrations.clear();
  using Two = std::tuple<Tensor&, Tensor&>;
  op = define("f(*, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!), Tensor(b!))",
              [&](Library& m) { m.impl("f", CPU, lazy); });
  expect_facts(error_of([&] { dispatcher.call<Two, Tensor&, Tensor&>(op, x, x); }, Code::kInternal),
               {"left None", "position 0", "Tensor"});
}

TEST_F(CallingErrors, CountsAreChecked) {
  const auto op = define("f(Tensor x, int n) -> (int, int)", [](Library& m) {
    m.impl("f", CPU, [](const Tensor&, int64_t n) { return std::tuple<int64_t, int64_t>(n, n); });
  });
  const IValue in[] = {IValue(one()), IValue(1), IValue(2)};
  IValue out[2];
  const auto call = [&](uint32_t n_in, uint32_t n_out) {
    return error_of([&] { dispatcher.call_boxed(op, in, n_in, out, n_out); },
                    Code::kInvalidArgument);
  };
  expect_facts(call(1, 2), {"'t::f'", "takes 2 arguments, got 1"});
  expect_facts(call(3, 2), {"takes 2 arguments, got 3"});
  expect_facts(call(2, 1), {"gives 2 results, got room for 1"});
  Stack stack = {IValue(1)};
  expect_facts(error_of([&] { dispatcher.call_boxed(op, stack); }, Code::kInvalidArgument),
               {"'t::f'", "takes 2 arguments, got 1"});
}

// Results of kernels of the C interface are looked at for all callers.
TEST_F(CallingErrors, ResultsOfCKernelsAreChecked) {
  static opyard_value left;
  const testing::CKernelBlock leaves(
      [](void*, opyard_call*, const opyard_value*, uint32_t, opyard_value* out, uint32_t) {
        out[0] = left;
        return 0;
      },
      nullptr);
  const auto call = [&](const string& type, opyard_value value) -> string {
    const auto op = define("f(Tensor x) -> " + type, [](Library&) {});
    const auto kernel = dispatcher.register_blocks(leaves.block, Origin{"hostile", 1});
    left = value;
    string message;
    try {
      Stack stack = {IValue(one())};
      dispatcher.call_boxed(op, stack);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInternal);
      message = error.message();
    }
    registrations.clear();
    return message;
  };
  expect_facts(call("Tensor", {OPYARD_NONE, 0, 0}), {"'t::f'", "CPU", "left None", "Tensor"});
  expect_facts(call("int", {OPYARD_DOUBLE, 0, 0}), {"left float 0.0", "int"});
  expect_facts(call("int", {77, 0, 12345}), {"unknown kind", "int"});
  expect_facts(call("int", {OPYARD_SYM_INT, 0, 12345}), {"left SymInt", "int"});
  expect_facts(call("bool", {OPYARD_INT, 0, 1}), {"left int 1", "bool"});
  expect_facts(call("int[]", IValue(ArrayRef<double>({1.0})).detach()), {"list of 1 float"});
  expect_facts(call("float[]", IValue(ArrayRef<int64_t>({1})).detach()), {"list of 1 int"});
  const bool flags[] = {true, false};
  const IValue bools(ArrayRef<bool>(flags, 2));
  EXPECT_EQ(call("bool[]", IValue(bools).detach()), "");
  *reinterpret_cast<uint8_t*>(bools.raw().payload) = 3;
  expect_facts(call("bool[]", IValue(bools).detach()), {"list of 2 bool"});
  EXPECT_EQ(call("Tensor?", {OPYARD_NONE, 0, 0}), "");
  EXPECT_EQ(call("Tensor", {OPYARD_TENSOR, 0, 0}), "");  // undefined
  EXPECT_EQ(call("float", {OPYARD_INT, 0, 3}), "");
  EXPECT_EQ(call("int[]", {OPYARD_LIST, OPYARD_INT, 0}), "");  // empty
}

TEST_F(CallingErrors, PlainValuesAreTakenByValue) {
  const auto add = [&](const std::function<void(Library&)>& impl) {
    return error_of(
        [&] {
          dispatcher.register_block(BlockKind::kImpl, "t", "CPU",
                                    [&](Library& m) { (impl(m), m.label("culprit")); });
        },
        Code::kInvalidArgument);
  };
  // Whatever comes first: the kernel, the definition, or another kernel.
  for (int round = 0; round < 3; ++round) {
    if (round > 0) {
      registrations.push_back(
          dispatcher.register_block(BlockKind::kFragment, "t", "", [&](Library& m) {
            m.def("f(Tensor x, SymInt n) -> Tensor").def("g(SymInt[] n, Scalar s) -> int");
            if (round > 1) m.impl("f", CUDA, [](const Tensor& x, int64_t) { return x; });
          }));
    }
    expect_facts(
        add([](Library& m) { m.impl("f", [](const Tensor& x, const int64_t&) { return x; }); }),
        {"mismatch", "'t::f'", "'Tensor (Tensor const&, long const&)'", "culprit", "position 1",
         "int", "must be passed by value"});
    expect_facts(
        add([](Library& m) { m.impl("g", [](const IntList& n, const Scalar&) { return n[0]; }); }),
        {"mismatch", "'t::g'", "ArrayRef<long> const&", "position 0", "int[]",
         "must be passed by value"});
    registrations.clear();
  }
  const auto op = define("f(Tensor x, SymInt n) -> Tensor", [](Library& m) {
    m.impl("f", CPU, [](const Tensor& x, int64_t) { return x; });
  });
  const Tensor x = one();
  const int64_t n = 3;
  expect_facts(error_of([&] { dispatcher.call<Tensor, const Tensor&, const int64_t&>(op, x, n); },
                        Code::kInvalidArgument),
               {"mismatch", "'t::f'", "a typed call", "must be passed by value"});
  EXPECT_TRUE((dispatcher.call<Tensor, const Tensor&, int64_t>(op, x, n)).is_same(x));
}

TEST_F(CallingErrors, MismatchesShowBothSignatures) {
  const auto op = define("f(Tensor x, int[] n) -> Tensor", [](Library& m) {
    m.impl("f", CPU, [](const Tensor& x, IntList) { return x; });
  });
  const auto add = [&] {
    dispatcher.register_block(BlockKind::kImpl, "t", "CUDA", [](Library& m) {
      m.impl("f", [](Tensor x, const vector<int64_t>&) { return x; });
    });
  };
  expect_facts(
      error_of(add, Code::kInvalidArgument),
      {"mismatch in kernel C++ signatures", "'t::f'", "'Tensor (Tensor const&, ArrayRef<long>)'",
       "'Tensor (Tensor, std::vector<long> const&)'", "calling_errors_test.cc"});
  const auto call = [&] { dispatcher.call<Tensor, Tensor, IntList>(op, one(), {}); };
  expect_facts(error_of(call, Code::kInvalidArgument),
               {"accessed with a wrong signature (mismatch)", "'t::f'",
                "'Tensor (Tensor const&, ArrayRef<long>)'", "'Tensor (Tensor, ArrayRef<long>)'",
                "f(Tensor x, int[] n) -> Tensor"});
}

TEST(CallingNames, SignaturesReadWell) {
  EXPECT_EQ(demangle(typeid(Tensor(const Tensor&, int64_t)).name()),
            "Tensor (Tensor const&, long)");
  EXPECT_EQ(demangle(typeid(void(std::string_view, const string&)).name()),
            "void (std::string_view, std::string const&)");
  EXPECT_EQ(demangle(typeid(vector<vector<Tensor>>(const vector<string>&)).name()),
            "std::vector<std::vector<Tensor>> (std::vector<std::string> const&)");
  EXPECT_EQ(demangle(typeid(std::tuple<Tensor, optional<ArrayRef<int64_t>>>(double)).name()),
            "std::tuple<Tensor, std::optional<ArrayRef<long>>> (double)");
}

}  // namespace
}  // namespace opyard
