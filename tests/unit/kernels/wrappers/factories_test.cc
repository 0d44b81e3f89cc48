// Factories without any kernel pack: empty and meta tensors, and where a call goes.
#include <gtest/gtest.h>

#include "opyard/concerns/backend_select/backend_select.h"
#include "opyard/ops.h"
#include "opyard/runtime/initialize.h"

namespace opyard {
namespace {

class Factories : public testing::Test {
 protected:
  void SetUp() override { initialize(); }

  template <typename F>
  static Code code_of(F function) {
    try {
      function();
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  }
};

TEST_F(Factories, EmptyNeedsNoKernelPack) {
  const Tensor tensor = ops::empty({2, 3}, ScalarType::kInt32);
  EXPECT_EQ(tensor.sizes(), IntList({2, 3}));
  EXPECT_EQ(tensor.dtype(), ScalarType::kInt32);
  EXPECT_TRUE(tensor.device().is_cpu());
  EXPECT_EQ(ops::empty({1}, TensorOptions{}).dtype(), ScalarType::kFloat32);
}

TEST_F(Factories, TheDeviceSaysWhereTheCallGoes) {
  const TensorOptions meta{.device = Device(Backend::kMeta)};
  EXPECT_TRUE(ops::empty({2}, meta).device().is_meta());
  EXPECT_TRUE(ops::zeros({2}, meta).device().is_meta());
  EXPECT_TRUE(ops::randn({2}, meta).device().is_meta());
  EXPECT_EQ(ops::arange(10, meta).sizes(), IntList({10}));
  EXPECT_EQ(code_of([] { ops::empty({2}, TensorOptions{.device = Device(Backend::kXPU)}); }),
            Code::kUnimplemented);
}

TEST_F(Factories, MetaTensorsOfAnySizeTakeNoMemory) {
  const TensorOptions meta{.device = Device(Backend::kMeta)};
  EXPECT_EQ(ops::zeros({int64_t{1} << 40, 1 << 10}, meta).numel(), int64_t{1} << 50);
}

TEST_F(Factories, ArangeCountsWithoutOverflow) {
  const TensorOptions meta{.device = Device(Backend::kMeta)};
  EXPECT_EQ(ops::arange(INT64_MIN, INT64_MAX, INT64_MAX, meta).numel(), 3);
  EXPECT_EQ(ops::arange(0, INT64_MIN, INT64_MIN, meta).numel(), 1);
  EXPECT_EQ(ops::arange(0, 1, 0.3, meta).numel(), 4);
  EXPECT_EQ(ops::arange(3, 3, -1, meta).numel(), 0);
  EXPECT_EQ(code_of([&] { ops::arange(INT64_MIN, INT64_MAX, 1, meta); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { ops::arange(0.0, 1e300, 1e-300, meta); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { ops::arange(0, 1, 0, meta); }), Code::kInvalidArgument);
}

TEST_F(Factories, RefuseWhatTheyCannotMake) {
  EXPECT_EQ(code_of([] { ops::empty({-1}, TensorOptions{}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { ops::empty({2}, TensorOptions{.layout = Layout::kSparse}); }),
            Code::kUnimplemented);
  EXPECT_EQ(code_of([] { ops::empty({2}, static_cast<ScalarType>(99)); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { ops::rand({2}, ScalarType::kInt64); }), Code::kInvalidArgument);
}

TEST_F(Factories, KeysAreTheBackendsDenseKey) {
  EXPECT_EQ(backend_select::factory_keys({}, {}, {}), KeySet({DispatchKey::CPU}));
  EXPECT_EQ(backend_select::factory_keys({}, {}, Device(Backend::kPrivateUse2)),
            KeySet({DispatchKey::PrivateUse2}));
}

}  // namespace
}  // namespace opyard
