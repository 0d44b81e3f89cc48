#include "opyard/dispatch/c_status.h"
#include "tests/unit/dispatch/support.h"

namespace opyard {
namespace {

// A kernel of the C interface: adds `self` to its second argument, refuses negative ones.
int32_t add_offset(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                   opyard_value* out, uint32_t) {
  if (n_in != 2 || in[1].tag != OPYARD_INT) return 3;
  const auto value = static_cast<int64_t>(in[1].payload);
  if (value < 0) {
    set_c_status(call->status, 11, {"negative", 8, 0});
    return 11;
  }
  out[0] = {OPYARD_INT, 0, static_cast<uint64_t>(value + *static_cast<int64_t*>(self))};
  return 0;
}

struct CKernel : ::testing::Test {
  CKernel() {
    definition = dispatcher.register_block(BlockKind::kDef, "t", "",
                                           [](Library& m) { m.def("f(Tensor x, int n) -> int"); });
    kernel = dispatcher.register_blocks(block, Origin{"c_plugin", 3});
  }
  int64_t call(int64_t n) {
    return dispatcher.call<int64_t, const Tensor&, int64_t>(
        dispatcher.get("t::f"), make_tensor({1}, ScalarType::kFloat32), n);
  }

  int64_t offset = 40;
  testing::CKernelBlock adds{&add_offset, &offset};
  opyard_registration& registration = adds.record;
  opyard_block& block = adds.block;
  Dispatcher dispatcher;
  Registration definition;
  Registration kernel;
};

TEST_F(CKernel, IsCalledTypedThroughTheSeam) { EXPECT_EQ(call(2), 42); }

TEST_F(CKernel, ItsStatusBecomesAnError) {
  try {
    call(-1);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kOutOfRange);
    EXPECT_NE(error.message().find("negative"), std::string::npos);
    EXPECT_NE(error.message().find("c_plugin"), std::string::npos);
    EXPECT_EQ(error.op(), "t::f");
  }
}

TEST_F(CKernel, ExplainNamesPluginAndGeneration) {
  const Explanation explanation =
      dispatcher.explain(dispatcher.get("t::f"), KeySet(DispatchKey::CPU));
  EXPECT_EQ(explanation.trail.at(0).plugin, "c_plugin");
  EXPECT_EQ(explanation.trail.at(0).generation, 3u);
}

TEST_F(CKernel, ARecordWithoutAFunctionIsRefused) {
  registration.boxed = nullptr;
  EXPECT_THROW(dispatcher.register_blocks(block), Error);
}

}  // namespace
}  // namespace opyard
