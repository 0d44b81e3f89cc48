#include "support.h"

namespace opyard {
namespace {

using enum DispatchKey;
using testing::contains;
using testing::error_of;

Tensor first(const Tensor& x) { return x; }
Tensor with_keys(Keys, const Tensor& x) { return x; }
Tensor two(const Tensor& x, const Tensor&) { return x; }
int64_t by_value(int64_t x) { return x + 1; }

struct RegistrationTest : ::testing::Test {
  Registration block(BlockKind kind, std::string_view ns, std::string_view key,
                     const std::function<void(Library&)>& fill) {
    return dispatcher.register_block(kind, ns, key, fill);
  }
  Dispatcher dispatcher;
};

TEST_F(RegistrationTest, DefAndImplComeInAnyOrder) {
  auto impl =
      block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", OPYARD_FN(first)); });
  EXPECT_FALSE(dispatcher.find("t::f"));
  ASSERT_TRUE(dispatcher.find_op("t::f"));
  EXPECT_TRUE(contains(dispatcher.dump_state("t::f"), "schema: (none)"));
  EXPECT_TRUE(contains(error_of([&] { dispatcher.get("t::f"); }, Code::kFailedPrecondition),
                       "did you forget to def()"));
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  ASSERT_TRUE(dispatcher.find("t::f"));
  const Tensor x = make_tensor({2}, ScalarType::kFloat32);
  EXPECT_TRUE((dispatcher.call<Tensor, const Tensor&>(dispatcher.get("t::f"), x).is_same(x)));
  dispatcher.check_invariants();
}

TEST_F(RegistrationTest, NothingRemainsAfterTheLastRemoval) {
  {
    auto all = block(BlockKind::kDef, "t", "", [](Library& m) {
      m.def("f(Tensor x) -> Tensor").impl("f", CPU, OPYARD_FN(first));
    });
  }
  EXPECT_FALSE(dispatcher.find_op("t::f"));
  EXPECT_EQ(dispatcher.dump_state("t::f"), "");
  auto again = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  EXPECT_TRUE(dispatcher.find("t::f"));
}

TEST_F(RegistrationTest, AFailedBlockLeavesEverythingAsItWas) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  const std::string before = dispatcher.dump_state("t::f");
  const std::string message = error_of(
      [&] {
        block(BlockKind::kFragment, "t", "", [](Library& m) {
          m.def("g(Tensor x) -> Tensor").impl("f", CPU, OPYARD_FN(first)).impl("f", OPYARD_FN(two));
        });
      },
      Code::kInvalidArgument);
  EXPECT_TRUE(contains(message, "mismatch")) << message;
  EXPECT_TRUE(contains(message, "registration_test.cc")) << message;
  EXPECT_EQ(dispatcher.dump_state("t::f"), before);
  EXPECT_FALSE(dispatcher.find_op("t::g"));
  dispatcher.check_invariants();
}

TEST_F(RegistrationTest, ADefinitionChecksKernelsThatWereThereBefore) {
  auto impl =
      block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", OPYARD_FN(first)); });
  const std::string message = error_of(
      [&] {
        block(BlockKind::kDef, "t", "",
              [](Library& m) { m.def("f(Tensor x, Tensor y) -> Tensor"); });
      },
      Code::kInvalidArgument);
  EXPECT_TRUE(contains(message, "2 vs 1")) << message;
  EXPECT_FALSE(dispatcher.find("t::f"));
}

TEST_F(RegistrationTest, DuplicatesNameBothPlaces) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  EXPECT_TRUE(contains(
      error_of([&] { block(BlockKind::kDef, "t", "", [](Library&) {}); }, Code::kAlreadyExists),
      "already defined"));
  EXPECT_TRUE(contains(error_of(
                           [&] {
                             block(BlockKind::kFragment, "t", "",
                                   [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
                           },
                           Code::kAlreadyExists),
                       "already defined"));
  def.reset();
  auto again = block(BlockKind::kDef, "t", "", [](Library&) {});
}

TEST_F(RegistrationTest, OverridesStackAndRestore) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  const auto put = [&](std::string_view label) {
    return block(BlockKind::kImpl, "t", "CPU",
                 [&](Library& m) { m.override_impl("f", OPYARD_FN(first)).label(label); });
  };
  const auto active = [&] {
    return dispatcher.explain(dispatcher.get("t::f"), KeySet(CPU)).trail[0].kernel;
  };
  auto one = put("one");
  auto two = put("two");
  auto three = put("three");
  EXPECT_EQ(active(), "three");
  two.reset();
  EXPECT_EQ(active(), "three");
  three.reset();
  EXPECT_EQ(active(), "one");
}

TEST_F(RegistrationTest, SchemasAreInferredFromTypedKernels) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("g", OPYARD_FN(first));
    m.def("h", [](const Tensor& x, int64_t, std::optional<double>) { return x; });
  });
  EXPECT_EQ(to_string(dispatcher.get("t::g").schema()), "t::g(Tensor _0) -> (Tensor _0)");
  EXPECT_EQ(to_string(dispatcher.get("t::h").schema()),
            "t::h(Tensor _0, int _1, float? _2) -> (Tensor _0)");
}

TEST_F(RegistrationTest, UnreachableKeysAreRefused) {
  const auto try_key = [&](std::string_view key) {
    return error_of(
        [&] {
          block(BlockKind::kImpl, "t", key, [](Library& m) { m.impl("f", OPYARD_FN(first)); });
        },
        Code::kInvalidArgument);
  };
  EXPECT_TRUE(contains(try_key("SparseCsr"), "SparseCsrCPU"));
  EXPECT_TRUE(contains(try_key("Undefined"), "CatchAll"));
  EXPECT_TRUE(contains(try_key("Nonsense"), "could not parse dispatch key"));
}

TEST_F(RegistrationTest, BlocksRefuseWhatDoesNotBelongThere) {
  const auto refused = [&](BlockKind kind, std::string_view ns, std::string_view key,
                           const std::function<void(Library&)>& fill) {
    return error_of([&] { block(kind, ns, key, fill); }, Code::kInvalidArgument);
  };
  refused(BlockKind::kDef, "_", "", [](Library&) {});
  refused(BlockKind::kImpl, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  refused(BlockKind::kDef, "t", "", [](Library& m) { m.def("u::f(Tensor x) -> Tensor"); });
  refused(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("u::f", OPYARD_FN(first)); });
  refused(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", CUDA, OPYARD_FN(first)); });
  refused(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.fallback(Fallthrough{}); });
  refused(BlockKind::kDef, "t", "", [](Library& m) { m.def("f.default(Tensor x) -> Tensor"); });
  refused(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x -> Tensor"); });
  refused(BlockKind::kDef, "t", "", [](Library& m) { m.def("f", Fallthrough{}); });
}

TEST_F(RegistrationTest, FallbacksAreUniquePerKeyAndIdenticalOnesAreFine) {
  const auto boxed =
      BoxedKernel{[](const Kernel&, Keys, const IValue*, uint32_t, IValue*, uint32_t) {}};
  auto one = block(BlockKind::kImpl, "_", "PrivateUse1", [&](Library& m) { m.fallback(boxed); });
  auto same = block(BlockKind::kImpl, "_", "PrivateUse1", [&](Library& m) { m.fallback(boxed); });
  const std::string message = error_of(
      [&] {
        block(BlockKind::kImpl, "_", "PrivateUse1", [](Library& m) { m.fallback(Fallthrough{}); });
      },
      Code::kAlreadyExists);
  EXPECT_TRUE(contains(message, "PrivateUse1")) << message;
}

TEST_F(RegistrationTest, RegistrationsMayOutliveTheirDispatcher) {
  Registration registration;
  {
    Dispatcher other;
    registration = other.register_block(BlockKind::kDef, "t", "",
                                        [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  }
  registration.reset();
}

TEST_F(RegistrationTest, SignaturesThatDifferAreRefused) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(int x) -> int").impl("f", CPU, OPYARD_FN(by_value));
    m.def("g(Tensor x) -> Tensor").impl("g", CPU, OPYARD_FN(first));
  });
  const OperatorHandle op = dispatcher.get("t::f");
  EXPECT_TRUE(contains(error_of([&] { dispatcher.call<Tensor, const Tensor&>(op, Tensor()); },
                                Code::kInvalidArgument),
                       "mismatch"));
  EXPECT_TRUE(contains(error_of(
                           [&] {
                             block(BlockKind::kImpl, "t", "CUDA",
                                   [](Library& m) { m.impl("g", [](Tensor& x) { return x; }); });
                           },
                           Code::kInvalidArgument),
                       "mismatch in kernel C++ signatures"));
}

TEST_F(RegistrationTest, ARedefinitionWithAnotherSchemaIsANewEntry) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  const OperatorHandle old = dispatcher.get("t::f");
  def.reset();
  def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x, int n) -> Tensor"); });
  EXPECT_NE(dispatcher.get("t::f"), old);
  Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
  EXPECT_TRUE(contains(error_of([&] { dispatcher.call_boxed(old, stack); }, Code::kNotFound),
                       "no longer registered"));
  def.reset();
  def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  EXPECT_EQ(dispatcher.get("t::f"), old);
}

TEST_F(RegistrationTest, StructuredWrappersFollowTheInternalKernel) {
  auto defs = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> Tensor").def("k(Tensor x, Tensor(a!) out) -> ()");
  });
  const StructuredForm form{"t::f", reinterpret_cast<const void*>(&with_keys),
                            SignatureOf<Tensor(const Tensor&)>::info()};
  dispatcher.declare_structured("t::k", form);
  const OperatorHandle op = dispatcher.get("t::f");
  const KeySet keys = dense_tensor_keys(Backend::kCPU);
  EXPECT_TRUE(dispatcher.explain(op, keys).fails);
  auto kernel = block(BlockKind::kImpl, "t", "CPU",
                      [](Library& m) { m.impl("k", [](const Tensor&, Tensor&) {}); });
  const Explanation explanation = dispatcher.explain(op, keys);
  EXPECT_FALSE(explanation.fails);
  ASSERT_EQ(explanation.trail.size(), 3u);  // pass-down, wrapper, kernel
  EXPECT_EQ(explanation.trail[2].op, "t::k");
  kernel.reset();
  EXPECT_TRUE(dispatcher.explain(op, keys).fails);
}

TEST_F(RegistrationTest, AnOverrideOfAPublicFormIsNoWrapper) {
  auto defs = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> Tensor").def("k(Tensor x, Tensor(a!) out) -> ()");
  });
  const StructuredForm form{"t::f", reinterpret_cast<const void*>(&with_keys),
                            SignatureOf<Tensor(const Tensor&)>::info()};
  dispatcher.declare_structured("t::k", form);
  auto direct =
      block(BlockKind::kImpl, "t", "SparseCPU", [](Library& m) { m.impl("f", OPYARD_FN(first)); });
  const Explanation explanation = dispatcher.explain(dispatcher.get("t::f"), KeySet(SparseCPU));
  EXPECT_EQ(explanation.trail.size(), 1u);
  EXPECT_FALSE(explanation.fails);
}

Tensor& writes(Tensor& x) { return x; }

TEST_F(RegistrationTest, TheSignatureOfAKernelGoesWithItToANewSchema) {
  auto impl =
      block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", OPYARD_FN(writes)); });
  auto def =
      block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor(a!) x) -> Tensor(a!)"); });
  def.reset();
  def = block(BlockKind::kDef, "t", "",
              [](Library& m) { m.def("f(Tensor(a!) self) -> Tensor(a!)"); });
  const OperatorHandle op = dispatcher.get("t::f");
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  error_of([&] { dispatcher.call<Tensor, const Tensor&>(op, x); }, Code::kInvalidArgument);
  Tensor y = x;
  EXPECT_EQ((&dispatcher.call<Tensor&, Tensor&>(op, y)), &y);
}

TEST_F(RegistrationTest, AFailedRedefinitionLeavesTheKernelsWhereTheyWere) {
  auto impl =
      block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", OPYARD_FN(first)); });
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  def.reset();
  error_of(
      [&] {
        block(BlockKind::kDef, "t", "",
              [](Library& m) { m.def("f(Tensor other) -> Tensor").def("broken("); });
      },
      Code::kInvalidArgument);
  def = block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  EXPECT_TRUE((dispatcher.call<Tensor, const Tensor&>(dispatcher.get("t::f"), x).is_same(x)));
  dispatcher.check_invariants();
}

TEST_F(RegistrationTest, AnEmptyOperatorTakesAnySignatureAgain) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> Tensor").impl("f", CPU, OPYARD_FN(first));
  });
  def.reset();
  def = block(BlockKind::kDef, "t", "",
              [](Library& m) { m.def("f(Tensor x) -> Tensor").impl("f", CPU, OPYARD_FN(writes)); });
}

TEST_F(RegistrationTest, UnknownOperatorsNameTheNearest) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("add.Tensor(Tensor x) -> Tensor").def("mul(Tensor x) -> Tensor");
  });
  const auto hint = [&](std::string_view name) {
    return error_of([&] { dispatcher.get(name); }, Code::kNotFound);
  };
  EXPECT_TRUE(contains(hint("t::ad"), "the nearest names are t::add")) << hint("t::ad");
  EXPECT_TRUE(contains(hint("t::mull"), "the nearest names are t::mul")) << hint("t::mull");
  EXPECT_FALSE(contains(hint("completely::different"), "nearest"));
}

}  // namespace
}  // namespace opyard
