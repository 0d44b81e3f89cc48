// A registration that takes another one's place.

#include "registration_support.h"

namespace opyard {
namespace {

using namespace testing;
using enum DispatchKey;

using Labels = std::vector<std::string>;

constexpr int64_t kOld = 1, kNew = 2, kUser = 3;
constexpr char kDefinition[] = "f(Tensor x) -> int";

Tensor first(const Tensor& x) { return x; }
Tensor form_of(Keys, const Tensor& x) { return x; }

const Origin kFirst{"plugin", 1};
const Origin kSecond{"plugin", 2};

struct ReplaceTest : RegistrationFixture {
  // One block with kernels of t::f at CPU.
  static std::vector<Library> kernels(const Labels& labels, const int64_t& number = kNew) {
    return library(BlockKind::kImpl, "t", "CPU", [&](Library& m) {
      for (const std::string& label : labels) m.override_impl("f", answers(number)).label(label);
    });
  }
  void define(std::string_view schema = kDefinition) {
    definition = block(BlockKind::kFragment, "t", "", [&](Library& m) { m.def(schema); });
  }
  Registration user(std::string_view label = "user", std::string_view op = "f") {
    return block(BlockKind::kImpl, "t", "CPU",
                 [&](Library& m) { m.override_impl(op, answers(kUser)).label(label); });
  }
  Registration definition;
};

TEST_F(ReplaceTest, AnEmptyRegistrationIsFilled) {
  define();
  Registration registration;
  dispatcher.replace(registration, kernels({"a"}), kFirst);
  EXPECT_TRUE(registration);
  EXPECT_EQ(call("t::f"), kNew);
}

TEST_F(ReplaceTest, AnOverrideStaysOnTop) {
  define();
  auto plugin = dispatcher.register_libraries(kernels({"old"}, kOld), kFirst);
  auto above = user();
  const uint64_t before = dispatcher.generation();
  dispatcher.replace(plugin, kernels({"new"}), kSecond);
  EXPECT_EQ(dispatcher.generation(), before + 1);
  EXPECT_EQ(stack("t::f", "CPU"), (Labels{"user", "new"}));
  EXPECT_EQ(call("t::f"), kUser);
  above.reset();
  EXPECT_EQ(call("t::f"), kNew);
  plugin.reset();
  EXPECT_TRUE(stack("t::f", "CPU").empty());
  dispatcher.check_invariants();
}

TEST_F(ReplaceTest, EachOfSeveralKernelsKeepsItsPlace) {
  define();
  auto plugin = dispatcher.register_libraries(kernels({"a1"}), kFirst);
  auto below = user("u1");
  // The plugin's second kernel, above the user's.
  auto whole = kernels({"a1"});
  dispatcher.replace(plugin, whole, kFirst);
  ASSERT_EQ(stack("t::f", "CPU"), (Labels{"u1", "a1"}));
  dispatcher.replace(plugin, kernels({"a1", "a2"}), kFirst);
  auto above = user("u2");
  ASSERT_EQ(stack("t::f", "CPU"), (Labels{"u2", "a2", "u1", "a1"}));
  dispatcher.replace(plugin, kernels({"b1", "b2"}), kSecond);
  EXPECT_EQ(stack("t::f", "CPU"), (Labels{"u2", "b2", "u1", "b1"}));
  dispatcher.replace(plugin, kernels({"c1"}), kSecond);
  EXPECT_EQ(stack("t::f", "CPU"), (Labels{"u2", "u1", "c1"}));
  dispatcher.replace(plugin, kernels({"d1", "d2"}), kSecond);
  EXPECT_EQ(stack("t::f", "CPU"), (Labels{"d2", "u2", "u1", "d1"}));
  dispatcher.check_invariants();
}

TEST_F(ReplaceTest, KernelsThatAreMissingGoAndOthersCome) {
  const auto at = [&](std::string_view key, std::string_view label) {
    return library(BlockKind::kFragment, "t", "", [&](Library& m) {
      m.def(kDefinition).impl("f", parse_dispatch_key(key), answers(kNew)).label(label);
    });
  };
  Registration plugin = dispatcher.register_libraries(at("CPU", "old"), kFirst);
  dispatcher.replace(plugin, at("CUDA", "new"), kSecond);
  EXPECT_TRUE(stack("t::f", "CPU").empty());
  EXPECT_EQ(stack("t::f", "CUDA"), (Labels{"new"}));
  EXPECT_EQ(dispatcher.explain(dispatcher.get("t::f"), KeySet(CUDA)).trail[0].generation, 2u);
}

TEST_F(ReplaceTest, TheSameDefinitionNeverGoes) {
  const auto whole = [&](const int64_t& number) {
    return library(BlockKind::kDef, "t", "",
                   [&](Library& m) { m.def(kDefinition, answers(number)); });
  };
  Registration plugin = dispatcher.register_libraries(whole(kOld), kFirst);
  const OperatorHandle op = dispatcher.get("t::f");
  std::vector<std::string> told;
  auto listening = dispatcher.add_listener({[&](OperatorHandle) { told.push_back("defined"); },
                                            [&](OperatorHandle) { told.push_back("undefined"); }});
  told.clear();
  dispatcher.replace(plugin, whole(kNew), kSecond);
  EXPECT_EQ(told, Labels());
  EXPECT_EQ(dispatcher.get("t::f"), op);
  EXPECT_EQ(call("t::f"), kNew);
  plugin.reset();
  EXPECT_EQ(told, Labels{"undefined"});
}

TEST_F(ReplaceTest, AnotherTextIsAnotherEntryAndTakesOverridesAlong) {
  const auto whole = [&](std::string_view schema) {
    return library(BlockKind::kDef, "t", "", [&](Library& m) { m.def(schema, answers(kNew)); });
  };
  Registration plugin = dispatcher.register_libraries(whole("f(Tensor x) -> int"), kFirst);
  const OperatorHandle old = dispatcher.get("t::f");
  auto above = user();
  std::vector<std::string> told;
  auto listening = dispatcher.add_listener(
      {[&](OperatorHandle h) { told.push_back("+" + to_string(h.schema())); },
       [&](OperatorHandle h) { told.push_back("-" + to_string(h.schema())); }});
  told.clear();
  dispatcher.replace(plugin, whole("f(Tensor x, int n=1) -> int"), kSecond);
  EXPECT_EQ(told, (Labels{"-t::f(Tensor x) -> int", "+t::f(Tensor x, int n=1) -> int"}));
  EXPECT_NE(dispatcher.get("t::f"), old);
  EXPECT_EQ(stack("t::f", "CPU"), Labels{"user"});
  Stack arguments = {IValue(make_tensor({1}, ScalarType::kFloat32))};
  EXPECT_TRUE(contains(error_of([&] { dispatcher.call_boxed(old, arguments); }, Code::kNotFound),
                       "no longer"));
  dispatcher.check_invariants();
}

TEST_F(ReplaceTest, WhatIsRefusedLeavesTheOldOneStanding) {
  define("g(Tensor x) -> Tensor");
  const auto whole = [&](const std::function<void(Library&)>& more) {
    return library(BlockKind::kDef, "t", "", [&](Library& m) {
      m.def(kDefinition, answers(kNew)).label("new");
      more(m);
    });
  };
  Registration plugin = dispatcher.register_libraries(whole([](Library&) {}), kFirst);
  auto above = user();
  const KernelHandle shadowed = dispatcher.kernel(dispatcher.get("t::f"), CUDA);
  const std::string before = dispatcher.dump_state("t::f") + dispatcher.dump_state("t::g");
  const uint64_t generation = dispatcher.generation();
  const auto refused = [&](Code code, const std::function<void(Library&)>& more) {
    const std::string message =
        error_of([&] { dispatcher.replace(plugin, whole(more), kSecond); }, code);
    EXPECT_EQ(dispatcher.dump_state("t::f") + dispatcher.dump_state("t::g"), before) << message;
    EXPECT_EQ(dispatcher.generation(), generation);
    EXPECT_TRUE(plugin && shadowed.valid());
    dispatcher.check_invariants();
  };
  refused(Code::kAlreadyExists, [](Library& m) { m.def(kDefinition); });
  refused(Code::kInvalidArgument, [](Library& m) { m.def("broken("); });
  refused(Code::kInvalidArgument, [](Library& m) { m.impl("f", CPU, OPYARD_FN(first)); });
  refused(Code::kInvalidArgument, [](Library& m) { m.fallback(Fallthrough{}); });
  refused(Code::kAlreadyExists, [](Library& m) { m.def("g(Tensor x, int n) -> Tensor"); });
  dispatcher.replace(plugin, whole([](Library&) {}), kSecond);
  EXPECT_FALSE(shadowed.valid());
}

TEST_F(ReplaceTest, TheNewGenerationIsJudgedAsIfTheOldOneHadLeft) {
  const auto whole = [&](std::string_view schema, auto kernel) {
    return library(BlockKind::kDef, "t", "", [&](Library& m) { m.def(schema, kernel); });
  };
  Registration plugin = dispatcher.register_libraries(
      whole("f(Tensor x) -> Tensor", [](const Tensor& x) { return x; }), kFirst);
  // Another C++ signature: nobody else has the old one.
  dispatcher.replace(plugin, whole("f(Tensor(a!) x) -> Tensor", [](Tensor& x) { return x; }),
                     kSecond);
  Tensor x = make_tensor({1}, ScalarType::kFloat32);
  EXPECT_TRUE((dispatcher.call<Tensor, Tensor&>(dispatcher.get("t::f"), x).is_same(x)));
}

TEST_F(ReplaceTest, AFallbackIsExchangedInPlace) {
  define();
  const auto fallback = [&](const int64_t& number) {
    return library(BlockKind::kImpl, "_", "PrivateUse1",
                   [&](Library& m) { m.fallback(answers(number)); });
  };
  Registration plugin = dispatcher.register_libraries(fallback(kOld), kFirst);
  const KeySet keys(PrivateUse1);
  EXPECT_EQ(call("t::f", keys), kOld);
  dispatcher.replace(plugin, fallback(kNew), kSecond);
  EXPECT_EQ(call("t::f", keys), kNew);
  // Somebody else has the very same fallback, which stays.
  auto same = dispatcher.register_libraries(fallback(kNew));
  error_of([&] { dispatcher.replace(plugin, fallback(kOld), kSecond); }, Code::kAlreadyExists);
  EXPECT_EQ(call("t::f", keys), kNew);
  dispatcher.replace(plugin, fallback(kNew), kSecond);
  dispatcher.check_invariants();
}

TEST_F(ReplaceTest, StructuredGroupsAreExchangedWithAllTheirForms) {
  auto defs = block(BlockKind::kFragment, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> Tensor").def("k(Tensor x, Tensor(a!) out) -> ()");
  });
  const StructuredForm form{"t::f", reinterpret_cast<const void*>(&form_of),
                            SignatureOf<Tensor(const Tensor&)>::info()};
  dispatcher.declare_structured("t::k", form);
  const auto pack = [&](std::string_view label) {
    return library(BlockKind::kImpl, "t", "CPU",
                   [&](Library& m) { m.impl("k", [](const Tensor&, Tensor&) {}).label(label); });
  };
  Registration plugin = dispatcher.register_libraries(pack("old"), kFirst);
  auto above = user("user", "f");
  dispatcher.replace(plugin, pack("new"), kSecond);
  EXPECT_EQ(stack("t::k", "CPU"), Labels{"new"});
  EXPECT_EQ(stack("t::f", "CPU"), (Labels{"user", "structured wrapper of t::k"}));
  plugin.reset();
  EXPECT_EQ(stack("t::f", "CPU"), Labels{"user"});
}

TEST_F(ReplaceTest, NothingIsWarnedOfWhereNothingNewIsShadowed) {
  define();
  const auto pack =
      library(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", answers(kNew)); });
  auto below = user();
  CapturedLog captured;
  Registration plugin = dispatcher.register_libraries(pack, kFirst);
  EXPECT_EQ(captured.take().size(), 1u);
  dispatcher.replace(plugin, pack, kSecond);
  EXPECT_EQ(captured.take(), Labels());
}

TEST_F(ReplaceTest, TheRegistrationOfAnotherDispatcherIsRefused) {
  Dispatcher other;
  Registration registration = other.register_libraries(kernels({"a"}));
  error_of([&] { dispatcher.replace(registration, kernels({"b"})); }, Code::kFailedPrecondition);
  EXPECT_TRUE(registration);
}

}  // namespace
}  // namespace opyard
