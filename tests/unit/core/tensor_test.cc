#include "opyard/core/tensor.h"

#include <gtest/gtest.h>

#include <limits>

#include "opyard/core/thread_state.h"

namespace opyard {
namespace {

TEST(Tensor, ANewOneIsRowMajorWithTheKeysOfItsDevice) {
  const Tensor tensor = make_tensor({2, 3}, ScalarType::kFloat64);
  EXPECT_EQ(tensor.sizes(), IntList({2, 3}));
  EXPECT_EQ(tensor.strides(), IntList({3, 1}));
  EXPECT_EQ(tensor.nbytes(), 48u);
  EXPECT_EQ(to_string(tensor.key_set()),
            "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw_data()) % 64, 0u);
}

TEST(Tensor, HostileShapesAreRefused) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_THROW(make_tensor({-1}, ScalarType::kFloat32), Error);
  EXPECT_THROW(make_tensor({huge, huge}, ScalarType::kFloat32), Error);
  EXPECT_THROW(make_tensor({huge}, ScalarType::kFloat64), Error);
  EXPECT_THROW(make_tensor({huge / 8}, ScalarType::kFloat64), Error);
  EXPECT_THROW(make_tensor(std::vector<int64_t>(65, 1), ScalarType::kFloat32), Error);
  EXPECT_THROW(make_tensor({0, huge, huge}, ScalarType::kFloat32), Error);
  EXPECT_EQ(make_tensor({0, 5}, ScalarType::kFloat32).numel(), 0);
}

TEST(Tensor, WindowsStayInTheirStorage) {
  const Tensor base = make_tensor({4}, ScalarType::kFloat32);
  EXPECT_EQ(view_of(base, {2, 2}, {2, 1}, 0).dim(), 2);
  EXPECT_THROW(view_of(base, {2, 2}, {2, 1}, 1), Error);
  EXPECT_THROW(view_of(base, {2}, {std::numeric_limits<int64_t>::max()}, 0), Error);
  EXPECT_THROW(view_of(base, {2}, {-1}, 3), Error);
  EXPECT_THROW(view_of(base, {1}, {1}, -1), Error);
  EXPECT_TRUE(view_of(base, {1, 4}, {77, 1}, 0).is_contiguous());
  EXPECT_FALSE(view_of(base, {2}, {2}, 0).is_contiguous());
}

TEST(Tensor, ElementAccessChecksDtypeAndDevice) {
  const Tensor tensor = make_tensor({1}, ScalarType::kInt32);
  EXPECT_THROW(tensor.data<float>(), Error);
  EXPECT_THROW(make_tensor({1}, ScalarType::kFloat32, Backend::kMeta).data<float>(), Error);
  EXPECT_THROW(make_tensor({1}, ScalarType::kFloat32, Backend::kCUDA), Error);
  EXPECT_THROW(Tensor().dtype(), Error);
}

TEST(Tensor, ViewsShareVersionAndStorage) {
  const Tensor base = make_tensor({4}, ScalarType::kFloat32);
  const Tensor view = view_of(base, {2}, {1}, 2);
  base.storage()->bump_version();
  EXPECT_EQ(view.version(), 1u);
}

class CountingBudget final : public AllocationBudget {
 public:
  void charge(size_t bytes) override {
    if (used + bytes > limit) raise(Code::kResourceExhausted, "over the quota");
    used += bytes;
  }
  void pay_back(size_t bytes) noexcept override { used -= bytes; }
  size_t used = 0;
  size_t limit = 100;
};

TEST(Tensor, ResizingAViewStaysAtItsOffset) {
  const Tensor base = make_tensor({10}, ScalarType::kFloat32);
  const Tensor view = view_of(base, {1}, {1}, 5);
  view.unsafe_impl()->resize_contiguous({2});
  EXPECT_EQ(view.storage_offset(), 5);
  EXPECT_EQ(view.numel(), 2);
  view.unsafe_impl()->resize_contiguous({8});
  EXPECT_EQ(view.storage_offset(), 5);
  EXPECT_EQ(base.storage()->nbytes(), 13u * 4);
}

TEST(Tensor, AnEmptyOneHasNoAddress) {
  const Tensor base = make_tensor({4}, ScalarType::kFloat32);
  EXPECT_EQ(view_of(base, {0, int64_t{1} << 61}, {1, 1}, int64_t{1} << 60).raw_data(), nullptr);
}

TEST(Device, ThereIsOneHost) {
  EXPECT_EQ(Device::parse("cpu:0"), Device(Backend::kCPU, 0));
  EXPECT_THROW(Device::parse("cpu:7"), Error);
  EXPECT_THROW(Device::parse("meta:1"), Error);
  EXPECT_EQ(Device::parse("cuda:7").index, 7);
}

TEST(Storage, IsChargedToTheThreadsBudget) {
  auto budget = IntrusivePtr<CountingBudget>::adopt(new CountingBudget);
  thread_state.budget = budget.get();
  thread_state.flags |= kThreadZeroMemory;
  Tensor tensor = make_tensor({20}, ScalarType::kFloat32);
  EXPECT_EQ(budget->used, 80u);
  EXPECT_EQ(tensor.data<float>()[19], 0.0f);
  EXPECT_THROW(make_tensor({20}, ScalarType::kFloat32), Error);
  thread_state.budget = nullptr;
  thread_state.flags = 0;
  tensor = Tensor();
  EXPECT_EQ(budget->used, 0u);
}

TEST(Storage, AFailedResizeChangesNothing) {
  auto budget = IntrusivePtr<CountingBudget>::adopt(new CountingBudget);
  budget->limit = SIZE_MAX;
  thread_state.budget = budget.get();
  Tensor tensor = make_tensor({20}, ScalarType::kFloat32);
  thread_state.budget = nullptr;
  EXPECT_THROW(tensor.storage()->resize(SIZE_MAX - 200), Error);
  EXPECT_EQ(budget->used, 80u);
  EXPECT_EQ(tensor.storage()->nbytes(), 80u);
  tensor.storage()->resize(40);
  EXPECT_EQ(budget->used, 40u);
}

}  // namespace
}  // namespace opyard
