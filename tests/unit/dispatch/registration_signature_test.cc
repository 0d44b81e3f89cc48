// The C++ signature of an operator, whose glue is code of those who registered it, and all ways to
// write a kernel.

#include <cstring>

#include "opyard/dispatch/registry.h"
#include "registration_support.h"

namespace opyard {
namespace {

using namespace testing;
using enum DispatchKey;

using Info = SignatureInfo;

constexpr int64_t kNumber = 42;

int64_t computes(Keys, const Tensor&) { return 7; }
int64_t by_reference(Keys, Tensor&) { return 8; }

// Two copies of the same glue, as two plugins have them.
template <int kPlugin>
int64_t glue(Keys keys, const Tensor& x) {
  return kPlugin * 100 + pass_down<int64_t, const Tensor&>(keys, x);
}
template <int kPlugin>
Info info_of() {
  Info info = SignatureOf<int64_t(const Tensor&)>::info();
  info.pass_down = reinterpret_cast<const void*>(&glue<kPlugin>);
  return info;
}

struct SignatureTest : RegistrationFixture {
  // A typed kernel of t::f whose glue is that of one plugin.
  template <int kPlugin>
  Registration kernel(std::string_view key) {
    static Info info = info_of<kPlugin>();
    auto libraries = library(BlockKind::kImpl, "t", key, [](Library& m) {
      m.override_impl("f", &computes).label("plugin " + std::to_string(kPlugin));
    });
    opyard_block block = libraries[0].block();
    opyard_registration record = block.registrations[0];
    record.signature = &info;
    block.registrations = &record;
    return dispatcher.register_blocks(block, Origin{"plugin" + std::to_string(kPlugin), 1});
  }
  // Through the autograd fallback, whose typed form is glue.
  int64_t typed_call() {
    Tensor x = make_tensor({1}, ScalarType::kFloat32);
    x.unsafe_impl()->set_key_set(KeySet(CPU) | KeySet(AutogradCPU));
    return dispatcher.call<int64_t, const Tensor&>(dispatcher.get("t::f"), x);
  }
  Registration definition =
      block(BlockKind::kFragment, "t", "", [](Library& m) { m.def("f(Tensor x) -> int"); });
};

TEST_F(SignatureTest, TheGlueOfAKernelLeavesWithIt) {
  auto one = kernel<1>("CPU");
  EXPECT_EQ(typed_call(), 107);
  auto two = kernel<2>("CUDA");
  const int64_t before = typed_call();
  EXPECT_TRUE(before == 107 || before == 207);
  two.reset();
  EXPECT_EQ(typed_call(), 107);
  two = kernel<2>("CPU");
  one.reset();
  EXPECT_EQ(typed_call(), 207);
  dispatcher.check_invariants();
}

TEST_F(SignatureTest, AnInactiveKernelLendsItsGlueToo) {
  auto below = kernel<1>("CPU");
  auto above = block(BlockKind::kImpl, "t", "CPU",
                     [](Library& m) { m.override_impl("f", answers(kNumber)); });
  EXPECT_EQ(typed_call(), 100 + kNumber);
  below.reset();
  EXPECT_EQ(typed_call(), kNumber);  // boxed all the way
}

TEST_F(SignatureTest, WhatAFormIsBoundToStaysWhenKernelsGo) {
  auto internal = block(BlockKind::kFragment, "t", "",
                        [](Library& m) { m.def("k(Tensor x, Tensor(a!) out) -> ()"); });
  dispatcher.declare_structured(
      "t::k", StructuredForm{"t::f", reinterpret_cast<const void*>(&computes), info_of<3>()});
  auto one = kernel<1>("CPU");
  EXPECT_EQ(typed_call(), 307);
  one.reset();
  auto other = [&] {
    block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", &by_reference); });
  };
  EXPECT_TRUE(
      contains(error_of(other, Code::kInvalidArgument), "mismatch in kernel C++ signatures"));
}

TEST_F(SignatureTest, ASignatureIsForgottenWithTheLastKernelThatHasIt) {
  auto one = kernel<1>("CPU");
  auto boxed =
      block(BlockKind::kImpl, "t", "CUDA", [](Library& m) { m.impl("f", answers(kNumber)); });
  const auto other = [&] {
    return block(BlockKind::kImpl, "t", "Meta", [](Library& m) { m.impl("f", &by_reference); });
  };
  EXPECT_TRUE(
      contains(error_of(other, Code::kInvalidArgument), "mismatch in kernel C++ signatures"));
  one.reset();
  auto accepted = other();
  error_of([&] { typed_call(); }, Code::kInvalidArgument);
}

TEST_F(SignatureTest, ATypedCallOfBoxedKernelsIsComparedWithTheSchema) {
  auto boxed =
      block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", answers(kNumber)); });
  const OperatorHandle op = dispatcher.get("t::f");
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ((dispatcher.call<int64_t, const Tensor&>(op, x)), kNumber);
    EXPECT_TRUE(contains(
        error_of([&] { dispatcher.call<Tensor, const Tensor&>(op, x); }, Code::kInvalidArgument),
        "mismatch"));
  }
  // It fixes nothing.
  auto kernel =
      block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.override_impl("f", &by_reference); });
  error_of([&] { dispatcher.call<int64_t, const Tensor&>(op, x); }, Code::kInvalidArgument);
}

int64_t plain(const Tensor&) { return 1; }
int32_t c_kernel(void* self, opyard_call*, const opyard_value*, uint32_t, opyard_value* out,
                 uint32_t) {
  out[0] = {OPYARD_INT, 0, static_cast<uint64_t>(*static_cast<int64_t*>(self))};
  return 0;
}

TEST_F(SignatureTest, EveryWayToWriteAKernelIsCalledTypedAndBoxed) {
  const auto check = [&](int64_t expected, const std::function<void(Library&)>& fill) {
    auto kernel = block(BlockKind::kImpl, "t", "CPU", fill);
    const Tensor x = make_tensor({1}, ScalarType::kFloat32);
    EXPECT_EQ((dispatcher.call<int64_t, const Tensor&>(dispatcher.get("t::f"), x)), expected);
    EXPECT_EQ(call("t::f"), expected);
    dispatcher.check_invariants();
  };
  check(1, [](Library& m) { m.impl("f", OPYARD_FN(plain)); });
  check(7, [](Library& m) { m.impl("f", OPYARD_FN(computes)); });
  check(7, [](Library& m) { m.impl("f", &computes); });
  check(2, [](Library& m) { m.impl("f", [](const Tensor&) -> int64_t { return 2; }); });
  check(3, [](Library& m) { m.impl("f", [](Keys, const Tensor&) -> int64_t { return 3; }); });
  check(kNumber, [](Library& m) { m.impl("f", answers(kNumber)); });
}

TEST_F(SignatureTest, ACKernelIsCalledTypedAndBoxed) {
  int64_t number = 55;
  const CKernelBlock computes(&c_kernel, &number);
  const auto kernel = dispatcher.register_blocks(computes.block, Origin{"c", 1});
  EXPECT_EQ(typed_call(), 55);
  EXPECT_EQ(call("t::f"), 55);
}

TEST_F(SignatureTest, AFallthroughIsSkippedAndWhatTellsNoSchemaNeedsOne) {
  auto kernels = block(BlockKind::kImpl, "t", "", [](Library& m) {
    m.impl("f", CPU, answers(kNumber)).impl("f", AutogradCPU, Fallthrough{});
  });
  EXPECT_EQ(call("t::f", KeySet(CPU) | KeySet(AutogradCPU)), kNumber);
  const auto inferred = [&](auto kernel) {
    return error_of(
        [&] { block(BlockKind::kFragment, "t", "", [&](Library& m) { m.def("g", kernel); }); },
        Code::kInvalidArgument);
  };
  EXPECT_TRUE(contains(inferred(Fallthrough{}), "could not infer a schema for 'g'"));
  EXPECT_TRUE(contains(inferred(answers(kNumber)), "could not infer a schema for 'g'"));
  EXPECT_TRUE(contains(
      error_of([&] { block(BlockKind::kFragment, "t", "", [](Library& m) { m.def("g"); }); },
               Code::kInvalidArgument),
      "write the schema out"));
  auto written = block(BlockKind::kFragment, "t", "",
                       [](Library& m) { m.def("g(Tensor x) -> int", answers(kNumber)); });
  EXPECT_EQ(call("t::g"), kNumber);
}

// A caller's file goes, and another's text stands at the same address.
TEST_F(SignatureTest, ACallerIsKnownByItsSignatureNotByWhereThatStands) {
  static const OperatorTable* table = nullptr;
  const auto boxed = block(BlockKind::kImpl, "t", "CPU", [](Library& m) {
    m.impl("f", BoxedKernel{
                    [](const Kernel&, Keys keys, const IValue*, uint32_t, IValue* out, uint32_t) {
                      table = keys.table;
                      out[0] = IValue(kNumber);
                    }});
  });
  Stack stack{IValue(make_tensor({1}, ScalarType::kFloat32))};
  dispatcher.call_boxed(dispatcher.get("t::f"), stack);
  ASSERT_NE(table, nullptr);
  char text[256] = {};
  const auto called_as = [&](Info info) {
    std::strncpy(text, info.mangled, sizeof(text) - 1);
    info.mangled = text;
    check_typed_call(*table, info);
  };
  called_as(SignatureOf<int64_t(const Tensor&)>::info());
  called_as(SignatureOf<int64_t(const Tensor&)>::info());
  const std::string wrong =
      error_of([&] { called_as(SignatureOf<double(const Tensor&, int64_t)>::info()); },
               Code::kInvalidArgument);
  EXPECT_TRUE(contains(wrong, "mismatch")) << wrong;
}

}  // namespace
}  // namespace opyard
