#include <gtest/gtest.h>

#include "opyard/core/local_keys.h"
#include "opyard/dispatch/dispatcher.h"

// The facts of every error that a call can end in before a kernel runs.

namespace opyard {
namespace {

using enum DispatchKey;

void do_nothing(const Kernel&, Keys, const IValue*, uint32_t, IValue*, uint32_t) {}
constexpr BoxedKernel kBoxed{&do_nothing};

Tensor with_keys(KeySet keys, ScalarType dtype = ScalarType::kFloat32) {
  Tensor tensor = make_tensor({2, 3}, dtype);
  tensor.unsafe_impl()->set_key_set(keys);
  return tensor;
}

struct ErrorsTest : ::testing::Test {
  ErrorsTest() {
    block(BlockKind::kDef, "t", "", [](Library& m) {
      m.def("f.two(Tensor x, Tensor other) -> Tensor");
      m.def("make(int n) -> Tensor");
      m.def("cat(Tensor[] tensors, Tensor?[] more, str mode='none') -> Tensor");
    });
  }
  void block(BlockKind kind, std::string_view ns, std::string_view key,
             const std::function<void(Library&)>& fill) {
    registrations.push_back(dispatcher.register_block(kind, ns, key, fill));
  }
  void kernel(std::string_view key, std::string_view op = "f.two") {
    block(BlockKind::kImpl, "t", key, [&](Library& m) { m.impl(op, kBoxed); });
  }
  // The error of a call; an empty one when it succeeds.
  Error error_of(std::string_view op, Stack stack) {
    try {
      dispatcher.call_boxed(dispatcher.get(op), stack);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was raised";
    return Error(Code::kOk, "");
  }
  Error error_of(KeySet keys) {
    return error_of("t::f.two", {IValue(with_keys(keys)), IValue(with_keys(keys))});
  }
  static void expect_facts(const Error& error, std::initializer_list<std::string_view> facts,
                           std::initializer_list<std::string_view> absent = {}) {
    for (const std::string_view fact : facts) {
      EXPECT_NE(error.message().find(fact), std::string::npos) << fact << ": " << error.message();
    }
    for (const std::string_view fact : absent) {
      EXPECT_EQ(error.message().find(fact), std::string::npos) << fact << ": " << error.message();
    }
    EXPECT_LT(error.message().size(), 2000u);
  }

  Dispatcher dispatcher;
  std::vector<Registration> registrations;
};

TEST_F(ErrorsTest, AMissingKernelTellsAllItsFacts) {
  kernel("CPU");
  kernel("SparseCUDA");
  kernel("PrivateUse1");
  const Error error =
      error_of("t::f.two", {IValue(make_tensor({2, 3}, ScalarType::kFloat32)),
                            IValue(with_keys(KeySet({CUDA, AutogradCUDA}), ScalarType::kInt64))});
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_EQ(error.op(), "t::f.two");
  EXPECT_EQ(error.key(), "CUDA");
  expect_facts(error,
               {"no kernel", "'t::f.two'", "at the key CUDA",
                // arguments: devices, dtypes, layouts
                "x: float32[2, 3] on cpu, strided", "other: int64[2, 3] on cpu, strided",
                // keys after thread state; autograd is done with
                "keys after thread state: DispatchKeySet(CPU, CUDA)",
                // real kernels; the others are counted: 18 Autograd, 10 Autocast, 2 more
                "kernels for CPU, PrivateUse1, SparseCUDA", "30 keys only pass calls on",
                // what to do
                "Move the arguments to cpu or privateuse1", "for cuda", "explain"},
               {"AutogradCPU", "AutocastCPU", "ADInplaceOrView", "Meta"});
}

TEST_F(ErrorsTest, FallthroughsAndPassDownsAreCountedNotListed) {
  kernel("CPU");
  block(BlockKind::kImpl, "t", "Negative", [](Library& m) { m.impl("f.two", Fallthrough{}); });
  expect_facts(error_of(KeySet(CUDA)), {"31 keys only pass calls on"}, {"Negative"});
}

TEST_F(ErrorsTest, CompositesAreCounted) {
  kernel("CompositeExplicitAutogradNonFunctional");
  kernel("CPU");
  // 3 layouts at 14 backends and 5 alone, without CPU itself.
  expect_facts(error_of(KeySet(XLA)), {"kernels for CPU, and composite ones for 46 keys"});
}

TEST_F(ErrorsTest, NoKernelAtAll) {
  expect_facts(error_of(KeySet(CPU)),
               {"no kernel", "It has no kernel at all", "Load a plugin", "for cpu"}, {"Move"});
}

TEST_F(ErrorsTest, TheFixDependsOnWhatIsMissing) {
  kernel("CPU");
  expect_facts(error_of(KeySet(SparseCPU)), {"SparseCPU", "plain (strided) tensors on cpu"});
  expect_facts(error_of(KeySet({CPU, Negative})),
               {"at the key Negative", "a kernel or a fallback at Negative", "keep that key out"});
  kernel("CUDA");
  expect_facts(error_of(KeySet(HIP)), {"Move the arguments to cpu or cuda", "for hip"});
}

TEST_F(ErrorsTest, ManyKernelsAreCutShort) {
  for (int i = 1; i <= kNumBackends; ++i) kernel(to_string(static_cast<Backend>(i)));
  expect_facts(error_of(KeySet(QuantizedCPU)), {"kernels for CPU, CUDA", "MAIA, …"}, {"Meta"});
}

TEST_F(ErrorsTest, NoTensorArgumentsOnlyWhenThereWereNone) {
  kernel("CPU", "make");
  kernel("CPU", "cat");
  const Error error = error_of("t::make", {IValue(3)});
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_EQ(error.key(), "Undefined");
  expect_facts(error, {"no kernel", "t::make", "no tensor arguments", "n: int 3", "kernels for CPU",
                       "CompositeExplicitAutograd"});
  const IValue empty{ArrayRef<Tensor>()};
  const IValue holes = IValue::list(std::vector<IValue>{IValue(), IValue()});
  expect_facts(error_of("t::cat", {empty, holes, IValue("x")}),
               {"no tensor arguments", "tensors: []", "more: [None, None]", "mode: str 'x'"});
  const IValue one{std::vector<Tensor>{with_keys(KeySet())}};
  expect_facts(error_of("t::cat", {one, holes, IValue("x")}),
               {"no kernel", "no key was left", "tensors: [float32[2, 3] on cpu, strided]"},
               {"no tensor arguments"});
}

TEST_F(ErrorsTest, KeysThatWereTakenAwayAreNamed) {
  kernel("CPU");
  {
    const ExcludeKeysGuard guard(KeySet({CPU, AutogradCPU}));
    const Error error = error_of(KeySet({CPU, AutogradCPU}));
    EXPECT_EQ(error.key(), "Undefined");
    expect_facts(
        error,
        {"no kernel", "no key was left", "arguments bring DispatchKeySet(CPU, AutogradCPU)",
         "excluded by the thread: DispatchKeySet(CPU, AutogradCPU)",
         "fall through: DispatchKeySet(BackendSelect, ADInplaceOrView)"},
        {"no tensor arguments", "redispatch"});
  }
  block(BlockKind::kImpl, "t", "CUDA", [](Library& m) { m.impl("f.two", Fallthrough{}); });
  expect_facts(
      error_of(KeySet(CUDA)),
      {"no key was left", "fall through: DispatchKeySet(CUDA, BackendSelect, ADInplaceOrView)"},
      {"excluded by the thread"});
}

TEST_F(ErrorsTest, ARedispatchThatLeavesNothing) {
  kernel("CPU");
  const auto redispatch = [&](KeySet keys) {
    try {
      Stack stack = {IValue(with_keys(KeySet(CPU))), IValue(with_keys(KeySet(CPU)))};
      dispatcher.redispatch_boxed(dispatcher.get("t::f.two"), keys, stack);
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::kOk, "");
  };
  expect_facts(redispatch(KeySet()),
               {"no key was left", "left out by the caller's redispatch: DispatchKeySet(CPU)"},
               {"no tensor arguments"});
  expect_facts(redispatch(KeySet(Sparse)), {"name Sparse without a backend", "as in SparseCPU"});
  const Error fell = redispatch(KeySet({CPU, ADInplaceOrView}));
  EXPECT_EQ(fell.code(), Code::kInternal);
  EXPECT_EQ(fell.key(), "ADInplaceOrView");
  expect_facts(fell, {"t::f.two", "ADInplaceOrView", "falls through", "redispatch"});
}

TEST_F(ErrorsTest, AmbiguousNamesBothSides) {
  kernel("CompositeImplicitAutograd");
  kernel("SparseCPU");
  kernel("Vulkan");
  kernel("CUDA");
  const Error error = error_of(KeySet({Vulkan, AutogradOther}));
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_EQ(error.op(), "t::f.two");
  EXPECT_EQ(error.key(), "AutogradOther");
  expect_facts(error,
               {"ambiguous", "t::f.two", "CompositeImplicitAutograd", "Vulkan, SparseCPU",
                "Register a kernel at AutogradOther"},
               {"CUDA"});
}

TEST_F(ErrorsTest, MetaSaysHowToGiveAShape) {
  kernel("CPU");
  const Error error = error_of(KeySet(Meta));
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_EQ(error.key(), "Meta");
  expect_facts(error, {"no kernel", "t::f.two", "at the key Meta", "shape",
                       "OPYARD_LIBRARY_IMPL(t, Meta, m)", "x: float32[2, 3]"});
}

TEST_F(ErrorsTest, AVanishedOperator) {
  const OperatorHandle op = dispatcher.get("t::f.two");
  registrations.clear();
  Stack stack = {IValue(with_keys(KeySet(CPU))), IValue(with_keys(KeySet(CPU)))};
  try {
    dispatcher.call_boxed(op, stack);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_EQ(error.op(), "t::f.two");
    expect_facts(error, {"t::f.two", "no longer registered", "load the plugin"});
  }
}

TEST_F(ErrorsTest, PrivateBackendsGoByTheirNames) {
  set_private_backend_name(Backend::kPrivateUse1, "my_device");
  set_private_backend_name(Backend::kPrivateUse2, "other_one");
  kernel("PrivateUse1");
  const Error error = error_of(KeySet({PrivateUse2, AutogradPrivateUse2}));
  EXPECT_EQ(error.key(), "other_one");
  expect_facts(error,
               {"at the key other_one", "kernels for my_device", "Move the arguments to my_device",
                "for other_one"},
               {"PrivateUse"});
  expect_facts(error_of(KeySet(SparsePrivateUse1)), {"SparseMyDevice", "tensors on my_device"},
               {"PrivateUse"});
  set_private_backend_name(Backend::kPrivateUse1, "");
  set_private_backend_name(Backend::kPrivateUse2, "");
}

TEST_F(ErrorsTest, UnknownOperatorsNameTheNearest) {
  try {
    dispatcher.get("t::f.tow");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    expect_facts(error, {"t::f.tow", "nearest", "t::f.two"});
  }
}

TEST_F(ErrorsTest, FixedWordsOfRegistration) {
  const auto refused = [&](BlockKind kind, std::string_view key,
                           const std::function<void(Library&)>& fill) {
    try {
      block(kind, "t", key, fill);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "was taken";
    return Error(Code::kOk, "");
  };
  const auto twice = [](Library& m) { m.def("f.two(Tensor x, Tensor other) -> Tensor"); };
  expect_facts(refused(BlockKind::kFragment, "", twice),
               {"already defined", "t::f.two(Tensor x, Tensor other) -> Tensor", "errors_test.cc"});
  expect_facts(refused(BlockKind::kDef, "", [](Library&) {}), {"already defined", "'t'"});
  expect_facts(refused(BlockKind::kImpl, "CPU",
                       [](Library& m) { m.impl("f.two", [](const Tensor& x) { return x; }); }),
               {"mismatch", "t::f.two", "2 vs 1", "errors_test.cc"});
}

// Whatever the names and the arguments are, the text stays short.
TEST_F(ErrorsTest, HostileNamesAndArgumentsMakeNoLongText) {
  const std::string name = "long_" + std::string(20'000, 'n');
  std::string schema = name + "(";
  Stack stack;
  for (int i = 0; i < 60; ++i) {
    schema += (i ? ", Tensor[] a" : "Tensor[] a") + std::string(500, 'a') + std::to_string(i);
    stack.push_back(IValue(std::vector<Tensor>(1000, with_keys(KeySet(CUDA)))));
  }
  stack[1] = IValue(std::vector<Tensor>());
  block(BlockKind::kFragment, "t", "", [&](Library& m) {
    m.def(schema + ") -> Tensor");
    m.impl(name, SparseCPU, kBoxed).impl(name, CompositeImplicitAutograd, kBoxed);
  });
  const OperatorHandle op = dispatcher.get("t::" + name);
  for (const KeySet keys : {KeySet(), KeySet(AutogradOther), KeySet(Negative), KeySet(Meta),
                            KeySet({BackendSelect, CPU}), KeySet(NestedTensorCPU)}) {
    Stack copy = stack;
    try {
      dispatcher.redispatch_boxed(op, keys, copy);
    } catch (const Error& error) {
      EXPECT_LT(error.message().size(), 3000u) << error.message();
    }
  }
  for (const std::string& unknown : {std::string(1 << 20, 'x'), "t::" + name + "n"}) {
    try {
      dispatcher.get(unknown);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kNotFound);
      EXPECT_LT(error.message().size(), 1000u);
    }
  }
}

}  // namespace
}  // namespace opyard
