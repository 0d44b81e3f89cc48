// Who owns what: definitions that plugins share, overrides, fallbacks, reserved namespaces.

#include <algorithm>

#include "registration_support.h"

namespace opyard {
namespace {

using namespace testing;
using enum DispatchKey;

constexpr int64_t kOne = 1, kTwo = 2;
constexpr char kText[] = "f(Tensor x) -> int";

const Origin kA{"a", 1};
const Origin kB{"b", 2};
const Origin kC{"c", 3};

struct SharingTest : RegistrationFixture {
  std::vector<Library> definition(std::string_view schema = kText) {
    return library(BlockKind::kFragment, "t", "", [&](Library& m) { m.def(schema); });
  }
  Registration define(const Origin& origin, std::string_view schema = kText) {
    return dispatcher.register_libraries(definition(schema), origin);
  }
};

TEST_F(SharingTest, AnOperatorStaysWhileAnyOwnerLives) {
  std::vector<std::string> told;
  auto listening = dispatcher.add_listener({[&](OperatorHandle) { told.push_back("defined"); },
                                            [&](OperatorHandle) { told.push_back("undefined"); }});
  std::vector<int> order = {0, 1, 2};
  do {
    told.clear();
    Registration owners[] = {define(kA), define(kB), define(kC)};
    const OperatorHandle op = dispatcher.get("t::f");
    for (const int each : order) {
      EXPECT_EQ(dispatcher.find("t::f"), op);
      EXPECT_EQ(told.size(), 1u);
      owners[each].reset();
      dispatcher.check_invariants();
    }
    EXPECT_FALSE(dispatcher.find_op("t::f"));
    EXPECT_EQ(told, (std::vector<std::string>{"defined", "undefined"}));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(SharingTest, TheDumpNamesAllPlaces) {
  auto a = dispatcher.register_libraries(definition(), kA);
  auto b = dispatcher.register_libraries(definition(), kB);
  EXPECT_TRUE(contains(dispatcher.dump_state("t::f"), "; also registered at "));
}

TEST_F(SharingTest, OtherWordsAreRefusedNamingBothPluginsAndPlaces) {
  auto a = define(kA);
  for (const char* other : {"f(Tensor y) -> int", "f(Tensor x, int n=1) -> int"}) {
    const std::string message = error_of([&] { define(kB, other); }, Code::kAlreadyExists);
    EXPECT_TRUE(contains(message, "already defined by 'a'")) << message;
    EXPECT_TRUE(contains(message, "by 'b'")) << message;
    EXPECT_TRUE(contains(message, std::string("t::") + kText)) << message;
    EXPECT_TRUE(contains(message, other)) << message;
    const size_t place = message.find("registered at ");
    EXPECT_NE(message.find("registered at ", place + 1), std::string::npos) << message;
  }
  EXPECT_EQ(to_string(dispatcher.get("t::f").schema()), std::string("t::") + kText);
}

TEST_F(SharingTest, OtherAttributesAreRefused) {
  auto a = define(kA);
  const auto tagged =
      library(BlockKind::kFragment, "t", "", [](Library& m) { m.def(kText, Tags{"core"}); });
  const std::string message =
      error_of([&] { dispatcher.register_libraries(tagged, kB); }, Code::kAlreadyExists);
  EXPECT_TRUE(contains(message, "tags core")) << message;
}

TEST_F(SharingTest, OnePluginDefinesAnOperatorOnce) {
  auto a = define(kA);
  auto b = define(kB);
  for (const Origin& origin : {kA, kB}) {
    for (const char* text : {kText, "f(Tensor y) -> int"}) {
      EXPECT_TRUE(contains(error_of([&] { define(origin, text); }, Code::kAlreadyExists),
                           "already defined by '" + origin.plugin + "'"));
    }
  }
  EXPECT_TRUE(contains(error_of(
                           [&] {
                             block(BlockKind::kFragment, "t", "", [](Library& m) {
                               m.def("g(Tensor x) -> int").def("g(Tensor x) -> int");
                             });
                           },
                           Code::kAlreadyExists),
                       "already defined"));
}

TEST_F(SharingTest, ANamespaceHasOneDefBlockWhoeverWritesIt) {
  auto a = dispatcher.register_libraries(library(BlockKind::kDef, "t", "", [](Library&) {}), kA);
  const std::string message = error_of(
      [&] {
        dispatcher.register_libraries(library(BlockKind::kDef, "t", "", [](Library&) {}), kB);
      },
      Code::kAlreadyExists);
  EXPECT_TRUE(contains(message, "already defined by 'a'")) << message;
  EXPECT_TRUE(contains(message, "of 'b'")) << message;
  EXPECT_TRUE(contains(message, "OPYARD_LIBRARY_FRAGMENT")) << message;
  auto fragment = define(kB);
  a.reset();
  EXPECT_TRUE(dispatcher.find("t::f"));
  a = dispatcher.register_libraries(library(BlockKind::kDef, "t", "", [](Library&) {}), kB);
}

TEST_F(SharingTest, ReservedNamespacesAreTheLibrarysOwn) {
  for (const char* name : {"kernel", "prim"}) {
    for (const BlockKind kind : {BlockKind::kDef, BlockKind::kFragment}) {
      const auto lib = library(kind, name, "", [](Library& m) { m.def(kText); });
      const std::string message =
          error_of([&] { dispatcher.register_libraries(lib, kA); }, Code::kPermissionDenied);
      EXPECT_TRUE(contains(message, std::string("'") + name + "'")) << message;
      EXPECT_TRUE(contains(message, "reserved")) << message;
      // A plugin of the library's name is not the library.
      error_of(
          [&] {
            dispatcher.register_libraries(lib, Origin{"opyard", 4});
          },
          Code::kPermissionDenied);
      auto own = dispatcher.register_libraries(lib);
      // Kernels may come from anybody.
      auto kernel = dispatcher.register_libraries(
          library(BlockKind::kImpl, name, "CPU", [](Library& m) { m.impl("f", answers(kOne)); }),
          kA);
      EXPECT_EQ(call(std::string(name) + "::f"), kOne);
    }
  }
}

// The place of each registration below is its line.
TEST_F(SharingTest, AnUndeclaredOverrideIsToldOnceWithWhatItReallyShadows) {
  auto def = define(kA);
  const auto put = [&](std::string_view key, const Origin& origin, bool declared, unsigned line) {
    return dispatcher.register_libraries(library(BlockKind::kImpl, "t", key,
                                                 [&](Library& m) {
                                                   if (declared) {
                                                     m.override_impl("f", answers(kOne), "some.cc",
                                                                     line);
                                                   } else {
                                                     m.impl("f", answers(kOne), "some.cc", line);
                                                   }
                                                 }),
                                         origin);
  };
  CapturedLog captured;
  auto cuda = put("CUDA", kA, false, 1);
  auto first = put("CPU", kA, false, 2);
  auto second = put("CPU", kB, true, 3);
  EXPECT_EQ(captured.take().size(), 0u);
  second.reset();
  auto third = put("CPU", kC, false, 4);
  const std::vector<std::string> lines = captured.take();
  ASSERT_EQ(lines.size(), 1u);
  for (const char* part : {"'t::f'", "CPU", "some.cc:2 by 'a'", "some.cc:4 by 'c'", "override"}) {
    EXPECT_TRUE(contains(lines[0], part)) << lines[0];
  }
  auto fourth = put("CPU", kB, true, 5);
  auto fifth = put("CPU", kA, false, 6);
  const std::vector<std::string> more = captured.take();
  ASSERT_EQ(more.size(), 1u);
  EXPECT_TRUE(contains(more[0], "some.cc:5 by 'b'")) << more[0];
}

TEST_F(SharingTest, ARefusedBatchWarnsOfNothing) {
  auto def = define(kA);
  auto first = block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", answers(kOne)); });
  CapturedLog captured;
  error_of(
      [&] {
        block(BlockKind::kImpl, "t", "CPU",
              [](Library& m) { m.impl("f", answers(kTwo)).impl("u::f", answers(kTwo)); });
      },
      Code::kInvalidArgument);
  EXPECT_EQ(captured.take().size(), 0u);
}

TEST_F(SharingTest, AnOverrideNamesItsKeyInTheCall) {
  auto def = define(kA);
  CapturedLog captured;
  auto kernels = block(BlockKind::kImpl, "t", "", [](Library& m) {
    m.impl("f", CUDA, answers(kOne)).override_impl("f", CUDA, answers(kTwo));
  });
  EXPECT_EQ(call("t::f", KeySet(CUDA)), kTwo);
  EXPECT_EQ(captured.take().size(), 0u);
  error_of(
      [&] {
        block(BlockKind::kImpl, "t", "CPU",
              [](Library& m) { m.override_impl("f", CUDA, answers(kOne)); });
      },
      Code::kInvalidArgument);
}

TEST_F(SharingTest, AnIdenticalFallbackHoldsUntilTheLastIsGone) {
  auto def = define(kA);
  std::vector<int> order = {0, 1, 2};
  do {
    const auto put = [&](const Origin& origin) {
      return dispatcher.register_libraries(library(BlockKind::kImpl, "_", "PrivateUse2",
                                                   [](Library& m) { m.fallback(answers(kOne)); }),
                                           origin);
    };
    Registration same[] = {put(kA), put(kB), put(kC)};
    for (const int each : order) {
      EXPECT_EQ(call("t::f", KeySet(PrivateUse2)), kOne);
      same[each].reset();
      dispatcher.check_invariants();
    }
    EXPECT_THROW(call("t::f", KeySet(PrivateUse2)), Error);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(SharingTest, AFallbackAtAnAliasHoldsAtEveryMember) {
  Dispatcher bare(false);
  auto def = bare.register_block(BlockKind::kDef, "t", "", [](Library& m) { m.def(kText); });
  const OperatorHandle op = bare.get("t::f");
  for (const DispatchKey alias :
       {Autograd, CompositeExplicitAutograd, FuncTorchBatchedDecomposition,
        CompositeImplicitAutogradNestedTensor, CompositeImplicitAutograd,
        CompositeExplicitAutogradNonFunctional}) {
    auto fallback = bare.register_block(BlockKind::kImpl, "_", to_string(alias), [](Library& m) {
      m.fallback(answers(kOne)).label("here");
    });
    for (const TableRow& row : bare.table(op)) {
      EXPECT_EQ(row.kernel == "here", alias_contains(alias, row.key)) << to_string(row.key);
    }
  }
  for (const TableRow& row : bare.table(op)) EXPECT_EQ(row.kind, KernelKind::kMissing);
}

TEST_F(SharingTest, AFallbackNeedsAKey) {
  EXPECT_TRUE(contains(
      error_of(
          [&] { block(BlockKind::kImpl, "_", "", [](Library& m) { m.fallback(Fallthrough{}); }); },
          Code::kInvalidArgument),
      "needs a key"));
}

}  // namespace
}  // namespace opyard
