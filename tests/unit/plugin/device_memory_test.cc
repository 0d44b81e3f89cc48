// Memory of a device: where it comes from, what it holds, and what becomes of it.
#include <gtest/gtest.h>

#include "fake_device.h"
#include "opyard/base/epoch.h"
#include "opyard/core/tensor.h"
#include "opyard/core/thread_state.h"
#include "opyard/plugin/backend_claims.h"
#include "opyard/plugin/device_runtime.h"
#include "tests/unit/plugin/errors.h"

namespace opyard::plugin {
namespace {

struct Generation {
  Generation(Backend backend, uint64_t number)
      : runtime(&device.table, &device, backend, leases, "sham", number) {}
  FakeDevice device;
  Leases leases;
  DeviceRuntime runtime;
};

class DeviceMemoryTest : public ::testing::Test {
 protected:
  BackendClaim claim_{"sham"};
  Device device_{claim_.backend()};
};

TEST(BackendClaims, ANameIsGivenOnceAndTheFourthIsRefusedNamingTheHolders) {
  BackendClaim one("claim_a");
  BackendClaim again("claim_a");
  EXPECT_EQ(one.backend(), again.backend());
  const BackendClaim two("claim_b");
  BackendClaim three("claim_c");
  const Error full = error_of([] { BackendClaim("claim_d"); });
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_TRUE(says(full, "claim_a") && says(full, "claim_b") && says(full, "claim_c"));
  one.reset();  // `again` still holds it
  EXPECT_EQ(Device::parse("claim_a").type, again.backend());
  const Backend freed = three.backend();
  three.reset();
  EXPECT_EQ(error_of([] { Device::parse("claim_c"); }).code(), Code::kInvalidArgument);
  const BackendClaim four("claim_d");
  EXPECT_EQ(four.backend(), freed);
  again.reset();
  EXPECT_EQ(error_of([] { BackendClaim(""); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { BackendClaim("no word"); }).code(), Code::kInvalidArgument);
}

TEST(BackendClaims, TheDeviceIsFoundAmongTheClaims) {
  EXPECT_EQ(claimed_device(""), std::nullopt);
  EXPECT_EQ(claimed_device("CPU,CUDA"), std::nullopt);
  EXPECT_EQ(claimed_device("CPU, device:toy"), "toy");
  EXPECT_EQ(error_of([] { claimed_device("device:a,device:b"); }).code(), Code::kInvalidArgument);
}

TEST_F(DeviceMemoryTest, ABlockIsALeaseUntilItIsFreed) {
  Generation first(device_.type, 1);
  EXPECT_EQ(error_of([&] { make_tensor({1}, ScalarType::kInt8, device_); }).code(),
            Code::kFailedPrecondition);
  first.runtime.publish();
  {
    const Tensor tensor = make_tensor({3, 5}, ScalarType::kFloat32, device_);
    const Tensor view = view_of(tensor, {2}, {1}, 1);
    EXPECT_EQ(first.leases.count(LeaseKind::kStorage), 1u);
    EXPECT_EQ(first.runtime.bytes_held(), 60u);
    EXPECT_EQ(first.device.frees, 0u);
  }
  EXPECT_EQ(first.leases.total(), 0u);
  EXPECT_EQ(first.runtime.bytes_held(), 0u);
  EXPECT_EQ(first.device.allocs, 1u);
  EXPECT_EQ(first.device.frees, 1u);
}

TEST_F(DeviceMemoryTest, WithoutElementsNothingIsHeld) {
  auto first = std::make_unique<Generation>(device_.type, 1);
  first->runtime.publish();
  Tensor tensor = make_tensor({0, 4}, ScalarType::kFloat32, device_);
  EXPECT_EQ(first->leases.total(), 0u);
  EXPECT_EQ(first->device.allocs, 0u);
  first.reset();
  tensor.storage()->check_usable();  // there is nobody left to ask
  EXPECT_THROW(tensor.unsafe_impl()->resize_contiguous({2}), Error);
  Generation second(device_.type, 2);
  second.runtime.publish();
  tensor.unsafe_impl()->resize_contiguous({2});
  EXPECT_EQ(second.leases.count(LeaseKind::kStorage), 1u);
  tensor.unsafe_impl()->resize_contiguous({300});
  EXPECT_EQ(second.leases.count(LeaseKind::kStorage), 1u);
  EXPECT_EQ(second.runtime.bytes_held(), 1200u);
  tensor = Tensor();
}

TEST_F(DeviceMemoryTest, FailuresLeaveNoLease) {
  Generation first(device_.type, 1);
  first.runtime.publish();
  first.device.alloc_code = static_cast<int32_t>(Code::kResourceExhausted);
  const Error none = error_of([&] { make_tensor({8}, ScalarType::kInt8, device_); });
  EXPECT_EQ(none.code(), Code::kResourceExhausted);
  EXPECT_TRUE(says(none, "'sham', alloc")) << none.message();
  first.device.alloc_code = 0;
  for (const opyard_address odd : {opyard_address{1} << 60 | 8, opyard_address{12}}) {
    first.device.give_instead = odd;
    EXPECT_EQ(error_of([&] { make_tensor({8}, ScalarType::kInt8, device_); }).code(),
              Code::kInternal);
  }
  first.device.give_instead = 0;
  const Error far = error_of([&] { make_tensor({8}, ScalarType::kInt8, Device(device_.type, 2)); });
  EXPECT_EQ(far.code(), Code::kInvalidArgument);
  EXPECT_TRUE(says(far, "sham:2")) << far.message();
  EXPECT_EQ(first.leases.total(), 0u);
  make_tensor({8}, ScalarType::kInt8, Device(device_.type, 1));
}

TEST_F(DeviceMemoryTest, MemoryIsZeroedForRemoteSessions) {
  for (const bool with_memset : {true, false}) {
    FakeDevice device;
    if (!with_memset) device.table.memset = nullptr;
    Leases leases;
    DeviceRuntime runtime(&device.table, &device, device_.type, leases, "sham", 1);
    runtime.publish();
    thread_state.flags |= kThreadZeroMemory;
    const Tensor tensor = make_tensor({100}, ScalarType::kInt32, device_);
    thread_state.flags &= ~uint32_t{kThreadZeroMemory};
    std::vector<int32_t> read(100, 1);
    runtime.calls().copy_out(0, read.data(), tensor.raw_data(), 400);
    runtime.calls().wait(0);
    EXPECT_EQ(read, std::vector<int32_t>(100, 0));
    EXPECT_EQ(device.wild, 0u);
  }
}

TEST_F(DeviceMemoryTest, StoragesAreFreedByTheGenerationThatMadeThem) {
  Generation first(device_.type, 1);
  first.runtime.publish();
  Tensor old = make_tensor({8}, ScalarType::kInt8, device_);
  Generation second(device_.type, 2);
  second.runtime.publish();
  first.runtime.withdraw();  // another is published: nothing happens
  Tensor young = make_tensor({8}, ScalarType::kInt8, device_);
  EXPECT_EQ(first.leases.total(), 1u);
  EXPECT_EQ(second.leases.total(), 1u);
  old = Tensor();
  EXPECT_EQ(first.leases.total(), 0u);
  EXPECT_EQ(first.device.frees, 1u);
  first.runtime.publish();  // a rollback
  EXPECT_EQ(make_tensor({8}, ScalarType::kInt8, device_).storage()->allocator() ==
                young.storage()->allocator(),
            false);
  first.runtime.withdraw();
  EXPECT_EQ(error_of([&] { make_tensor({1}, ScalarType::kInt8, device_); }).code(),
            Code::kFailedPrecondition);
}

TEST_F(DeviceMemoryTest, AroundAChangeGenerationsWaitForEachOthersWork) {
  Generation first(device_.type, 1);
  first.runtime.publish();
  const Tensor tensor = make_tensor({8}, ScalarType::kInt8, device_);
  const auto queue_work = [&](Generation& generation) {
    static const char kByte = 1;
    generation.runtime.calls().copy_in(0, tensor.raw_data(), &kByte, 1);
  };
  queue_work(first);
  tensor.storage()->check_usable();
  EXPECT_EQ(first.device.queue.size(), 1u);  // it is alone
  Generation second(device_.type, 2);
  second.runtime.publish();
  tensor.storage()->check_usable();
  EXPECT_TRUE(first.device.queue.empty());
  queue_work(first);  // by a call that had begun before
  first.runtime.withdraw();
  tensor.storage()->check_usable();
  EXPECT_TRUE(first.device.queue.empty());
  epoch::retire(new char, [](void* mark) { delete static_cast<char*>(mark); });
  epoch::synchronize();
  tensor.storage()->check_usable();  // sees that the calls are over, and the work is done
  queue_work(second);
  tensor.storage()->check_usable();
  EXPECT_EQ(second.device.queue.size(), 1u);
  first.runtime.begin_work();  // a copy of what the first still holds
  EXPECT_TRUE(second.device.queue.empty());
  first.runtime.publish();  // a rollback
  queue_work(second);
  tensor.storage()->check_usable();
  EXPECT_TRUE(second.device.queue.empty());
}

TEST_F(DeviceMemoryTest, PolicyFailTakesTheMemoryAndNamesTheGeneration) {
  auto first = std::make_unique<Generation>(device_.type, 7);
  first->runtime.publish();
  const Tensor tensor = make_tensor({8}, ScalarType::kInt8, device_);
  tensor.storage()->check_usable();
  first->runtime.withdraw();
  first->runtime.fail_storages();
  EXPECT_EQ(first->leases.total(), 0u);
  EXPECT_EQ(first->runtime.bytes_held(), 0u);
  EXPECT_EQ(first->device.frees, 1u);
  first.reset();
  const Error gone = error_of([&] { tensor.storage()->check_usable(); });
  EXPECT_EQ(gone.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(says(gone, "generation 7 of the plugin 'sham'")) << gone.message();
  EXPECT_THROW(tensor.unsafe_impl()->resize_contiguous({800}), Error);
}

TEST_F(DeviceMemoryTest, PolicyShareMovesLeasesAndFrees) {
  auto first = std::make_unique<Generation>(device_.type, 1);
  first->runtime.publish();
  Tensor a = make_tensor({8}, ScalarType::kInt8, device_);
  Tensor b = make_tensor({8}, ScalarType::kInt8, device_);
  Generation second(device_.type, 2);
  second.runtime.publish();
  first->runtime.hand_over(second.runtime);
  EXPECT_EQ(first->leases.total(), 0u);
  EXPECT_EQ(second.leases.count(LeaseKind::kStorage), 2u);
  EXPECT_EQ(second.runtime.bytes_held(), 16u);
  first.reset();
  a = Tensor();
  EXPECT_EQ(second.device.frees, 1u);
  Generation third(device_.type, 3);
  third.runtime.publish();
  second.runtime.hand_over(third.runtime);
  EXPECT_EQ(second.leases.total(), 0u);
  EXPECT_EQ(third.leases.total(), 1u);
  b = Tensor();
  EXPECT_EQ(third.device.frees, 1u);
  EXPECT_EQ(third.leases.total(), 0u);
}

TEST_F(DeviceMemoryTest, WhatDoesNotShareIsNotHandedOver) {
  Generation first(device_.type, 1);
  first.runtime.publish();
  const Tensor tensor = make_tensor({8}, ScalarType::kInt8, device_);
  FakeDevice other;
  other.table.flags = 0;
  Leases leases;
  DeviceRuntime second(&other.table, &other, device_.type, leases, "sham", 2);
  const Error error = error_of([&] { first.runtime.hand_over(second); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(says(error, "generation 2")) << error.message();
  EXPECT_EQ(first.leases.total(), 1u);
}

TEST_F(DeviceMemoryTest, AnUnfitExtensionIsRefused) {
  const auto refused = [&](auto change) {
    FakeDevice device;
    change(device.table);
    Leases leases;
    return error_of(
        [&] { DeviceRuntime(&device.table, &device, device_.type, leases, "sham", 1); });
  };
  EXPECT_EQ(refused([](opyard_device_ext&) {}).code(), Code::kOk);
  EXPECT_TRUE(says(refused([](auto& table) { table.struct_size = 160; }), "struct_size"));
  EXPECT_TRUE(says(refused([](auto& table) { table.alloc = nullptr; }), "alloc"));
  EXPECT_TRUE(says(refused([](auto& table) { table.copy_d2h = nullptr; }), "copy_d2h"));
  EXPECT_TRUE(says(refused([](auto& table) {
                     table.device_count = [](void*, uint32_t* count, opyard_status*) {
                       *count = 0;
                       return 0;
                     };
                   }),
                   "0 devices"));
  EXPECT_EQ(refused([](auto& table) {
              table.device_count = [](void*, uint32_t*, opyard_status*) { return 14; };
            }).code(),
            Code::kUnavailable);
  Leases leases;
  EXPECT_THROW(DeviceRuntime(nullptr, nullptr, device_.type, leases, "sham", 1), Error);
}

}  // namespace
}  // namespace opyard::plugin
