#include <mutex>

#include "opyard/base/log.h"
#include "opyard/core/local_keys.h"
#include "scenario.h"

namespace opyard {
namespace {

// Kernels of a chain, with the keys as their first parameter or without.
Tensor tracer_with_keys(Keys keys, const Tensor& x) {
  ran.push_back("tracer");
  return invoke<Tensor, const Tensor&>(keys.below(Tracer), x);
}
Tensor autograd_with_keys(Keys keys, const Tensor& x) {
  ran.push_back("autograd");
  return invoke<Tensor, const Tensor&>(keys.with(keys.set - kAutogradKeys), x);
}
Tensor cpu_without_keys(const Tensor& x) {
  ran.push_back("cpu");
  return x;
}
void tracer_boxed(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                  uint32_t n_out) {
  ran.push_back("tracer");
  const Keys next = keys.below(Tracer);
  const Kernel& kernel = next.table->kernel(next.set);
  kernel.boxed(kernel, next, in, n_in, out, n_out);
}

TEST_F(Scenario, N63ChainsOfMixedKernels) {
  for (const bool boxed_tracer : {false, true}) {
    const Registration def = block(BlockKind::kFragment, "t", "", [&](Library& m) {
      m.def("f(Tensor x) -> Tensor");
      boxed_tracer ? m.impl("f", Tracer, BoxedKernel{&tracer_boxed})
                   : m.impl("f", Tracer, OPYARD_FN(tracer_with_keys));
      m.impl("f", AutogradCPU, OPYARD_FN(autograd_with_keys));
      m.impl("f", CPU, OPYARD_FN(cpu_without_keys));
    });
    const Labels wanted = {"tracer", "autograd", "cpu"};
    const KeySet keys({CPU, AutogradCPU, Tracer});
    EXPECT_EQ(trail(keys), wanted);
    ran.clear();
    dispatcher.call<Tensor, const Tensor&>(dispatcher.get("t::f"), with_keys(keys));
    EXPECT_EQ(ran, wanted);
  }
}

TEST_F(Scenario, N65SymbolicIntegersAreIntegers) {
  const Registration def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x, SymInt n) -> SymInt");
    m.def("g(Tensor x, SymInt[] n) -> SymInt");
    m.impl("f", CPU, [](const Tensor&, int64_t n) { return n + 1; });
    m.impl("g", CPU, [](const Tensor&, IntList n) { return n[0] + 1; });
  });
  const Tensor x = with_keys(KeySet(CPU));
  EXPECT_EQ((dispatcher.call<int64_t, const Tensor&, int64_t>(dispatcher.get("t::f"), x, 4)), 5);
  EXPECT_EQ(
      (dispatcher.call<int64_t, const Tensor&, IntList>(dispatcher.get("t::g"), x, IntList({4}))),
      5);
  Stack stack = {IValue(x), IValue(int64_t{4})};
  dispatcher.call_boxed(dispatcher.get("t::f"), stack);
  EXPECT_EQ(stack.at(0).to_int(), 5);
  expect_words(error_of([&] {
                 return block(BlockKind::kImpl, "t", "CUDA", [](Library& m) {
                   m.impl("f", [](const Tensor&, IntList) { return int64_t{0}; });
                 });
               }),
               Code::kInvalidArgument, {"mismatch", "t::f"});
}

// A mode: excludes itself and calls the operator again.
int mode_hits = 0;
void mode(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out, uint32_t n_out) {
  ++mode_hits;
  const ExcludeKeysGuard guard(KeySet{TESTING_ONLY_GenericMode});
  const OperatorEntry& op = keys.op();
  op.dispatcher().call_boxed(OperatorHandle(&op), in, n_in, out, n_out);
}

TEST_F(Scenario, N75AModeSeesWholeOperators) {
  mode_hits = 0;
  const Registration fallback = block(BlockKind::kImpl, "_", "TESTING_ONLY_GenericMode",
                                      [](Library& m) { m.fallback(BoxedKernel{&mode}); });
  const Registration def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("ones() -> Tensor").def("inner(Tensor x) -> Tensor").def("norm(Tensor x) -> Tensor");
    m.impl("ones", CompositeExplicitAutograd,
           BoxedKernel{[](const Kernel&, Keys, const IValue*, uint32_t, IValue* out, uint32_t) {
             out[0] = IValue(make_tensor({1}, ScalarType::kFloat32));
           }});
    m.impl("inner", CPU, kRecord);
    m.impl("norm", CompositeImplicitAutograd,
           BoxedKernel{[](const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                          uint32_t n_out) {
             Dispatcher& own = keys.op().dispatcher();
             own.call_boxed(own.get("t::inner"), in, n_in, out, n_out);
           }});
  });
  const IncludeKeysGuard on(KeySet{TESTING_ONLY_GenericMode});
  Stack stack;
  dispatcher.call_boxed(dispatcher.get("t::ones"), stack);
  dispatcher.call_boxed(dispatcher.get("t::norm"), stack);
  EXPECT_EQ(mode_hits, 2) << "not a third time for what the composite calls";
  EXPECT_EQ(ran.size(), 1u);
}

TEST_F(Scenario, N77AFallthroughForAllButOne) {
  const Registration fallback = block(BlockKind::kImpl, "_", "TESTING_ONLY_GenericMode",
                                      [](Library& m) { m.fallback(Fallthrough{}); });
  const Registration defs = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("mul(Tensor x) -> Tensor").def("add(Tensor x) -> Tensor");
    m.impl("mul", CPU, kRecord).label("mul cpu").impl("add", CPU, kRecord).label("add cpu");
    m.impl("mul", TESTING_ONLY_GenericMode, BoxedKernel{&mode});
  });
  mode_hits = 0;
  const IncludeKeysGuard on(KeySet{TESTING_ONLY_GenericMode});
  EXPECT_EQ(trail(KeySet(CPU), "t::add"), Labels{"add cpu"});
  EXPECT_EQ(mode_hits, 0);
  EXPECT_EQ(trail(KeySet(CPU), "t::mul"), Labels{"mul cpu"});
  EXPECT_EQ(mode_hits, 1);
}

TEST_F(Scenario, N78AFallbacksResultIsTheCalls) {
  const Registration fallback = block(BlockKind::kImpl, "_", "PrivateUse1", [](Library& m) {
    m.fallback(BoxedKernel{
        [](const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out, uint32_t) {
          int64_t sum = static_cast<int64_t>(keys.op().name().size());
          for (uint32_t i = 0; i < n_in; ++i) sum += in[i].is(Tag::kInt) ? in[i].to_int() : 0;
          out[0] = IValue(sum);
        }});
  });
  const Registration defs = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("plain(Tensor x, int n, *, int m=3) -> int").def("make(int n) -> int");
  });
  const Tensor x = with_keys(KeySet({PrivateUse1, AutogradPrivateUse1}));
  Stack stack = {IValue(x), IValue(int64_t{100}), IValue(int64_t{20})};
  dispatcher.call_boxed(dispatcher.get("t::plain"), stack);
  EXPECT_EQ(stack.at(0).to_int(), 120 + 8);
  EXPECT_EQ((dispatcher.call<int64_t, const Tensor&, int64_t, int64_t>(dispatcher.get("t::plain"),
                                                                       x, 100, 20)),
            128);
  const IncludeKeysGuard device(KeySet{PrivateUse1});
  EXPECT_EQ((dispatcher.call<int64_t, int64_t>(dispatcher.get("t::make"), 5)), 5 + 7);
}

TEST_F(Scenario, N83LibrariesOverrideDifferentOperators) {
  const Registration defs = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("neg(Tensor x) -> Tensor").def("mul(Tensor x) -> Tensor");
    m.impl("neg", CPU, kRecord).label("neg").impl("mul", CPU, kRecord).label("mul");
  });
  const auto overriding = [&](std::string_view op, std::string_view label) {
    return block(BlockKind::kImpl, "t", "CPU",
                 [&](Library& m) { m.override_impl(op, kRecord).label(label); });
  };
  Registration first = overriding("neg", "my neg");
  Registration second = overriding("mul", "my mul");
  EXPECT_EQ(trail(KeySet(CPU), "t::neg"), Labels{"my neg"});
  EXPECT_EQ(trail(KeySet(CPU), "t::mul"), Labels{"my mul"});
  first.reset();
  EXPECT_EQ(trail(KeySet(CPU), "t::neg"), Labels{"neg"});
  EXPECT_EQ(trail(KeySet(CPU), "t::mul"), Labels{"my mul"});
  second.reset();
  EXPECT_EQ(trail(KeySet(CPU), "t::mul"), Labels{"mul"});
}

TEST_F(Scenario, N84ALibraryTakesItsRegistrationsAlong) {
  const Registration def = define();
  const std::string before = dispatcher.dump_state("t::f");
  {
    const Registration library = block(BlockKind::kFragment, "t", "", [](Library& m) {
      m.impl("f", CPU, kRecord).impl("f", CUDA, kRecord).def("g(Tensor x) -> Tensor");
    });
    EXPECT_NE(dispatcher.dump_state("t::f"), before);
  }
  EXPECT_EQ(dispatcher.dump_state("t::f"), before);
  EXPECT_FALSE(dispatcher.find_op("t::g"));
}

TEST_F(Scenario, N85ABlockHasOneKey) {
  const Registration def = define();
  expect_words(error_of([&] {
                 return block(BlockKind::kImpl, "t", "CPU",
                              [](Library& m) { m.impl("f", CUDA, kRecord); });
               }),
               Code::kInvalidArgument, {"CUDA", "CPU", "OPYARD_LIBRARY_IMPL"});
  const Registration by_default = kernel("CPU", "cpu");
  const Registration same = block(BlockKind::kImpl, "t", "CUDA",
                                  [](Library& m) { m.impl("f", CUDA, kRecord).label("cuda"); });
  EXPECT_EQ(trail(KeySet(CPU)), Labels{"cpu"});
  EXPECT_EQ(trail(KeySet(CUDA)), Labels{"cuda"});
}

TEST_F(Scenario, N86FragmentsWithAndWithoutADefiningBlock) {
  Registration fragment =
      block(BlockKind::kFragment, "new", "", [](Library& m) { m.def("a(Tensor x) -> Tensor"); });
  const Registration defining =
      block(BlockKind::kDef, "new", "", [](Library& m) { m.def("b(Tensor x) -> Tensor"); });
  const Registration more =
      block(BlockKind::kFragment, "new", "", [](Library& m) { m.def("c(Tensor x) -> Tensor"); });
  const Registration impls = block(BlockKind::kImpl, "new", "CPU", [](Library& m) {
    m.impl("a", kRecord).label("a").impl("b", kRecord).label("b").impl("c", kRecord).label("c");
  });
  EXPECT_EQ(dispatcher.list("new::"), (Labels{"new::a", "new::b", "new::c"}));
  EXPECT_EQ(trail(KeySet(CPU), "new::c"), Labels{"c"});
  fragment.reset();
  EXPECT_EQ(dispatcher.list("new::"), (Labels{"new::b", "new::c"}));
}

TEST_F(Scenario, N87AnUnknownKindOfBlock) {
  for (const uint32_t kind : {0u, 4u, ~0u}) {
    expect_words(
        error_of([&] { return block(static_cast<BlockKind>(kind), "t", "", [](Library&) {}); }),
        Code::kInvalidArgument, {"block kind"});
  }
}

std::vector<std::string> warnings;
std::mutex warnings_mutex;

TEST_F(Scenario, N100TheWarningNamesTheKernelReallyOverridden) {
  set_log_sink([](LogLevel level, std::string_view message) {
    const std::lock_guard lock(warnings_mutex);
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  });
  warnings.clear();
  {
    const Registration def = define();
    const Registration cpu = kernel("CPU", "cpu one");
    const Registration cuda = kernel("CUDA", "cuda one");
    EXPECT_EQ(warnings, Labels{});
    const Registration second = kernel("CUDA", "cuda two");
    const Registration third = kernel("CUDA", "cuda three");
  }
  set_log_sink(nullptr);
  ASSERT_EQ(warnings.size(), 2u);
  for (const char* word : {"t::f", "CUDA", "cuda one", "cuda two"}) {
    EXPECT_TRUE(contains(warnings[0], word)) << warnings[0];
  }
  for (const char* word : {"cuda two", "cuda three"}) {
    EXPECT_TRUE(contains(warnings[1], word)) << warnings[1];
  }
  EXPECT_FALSE(contains(warnings[0] + warnings[1], "cpu one"));
}

}  // namespace
}  // namespace opyard
