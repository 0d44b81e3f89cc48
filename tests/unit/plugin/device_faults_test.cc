// Devices that fail or hang: whom that reaches.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fake_device.h"
#include "opyard/base/epoch.h"
#include "opyard/core/tensor.h"
#include "opyard/core/thread_state.h"
#include "opyard/plugin/backend_claims.h"
#include "opyard/plugin/device_family.h"
#include "opyard/plugin/device_runtime.h"
#include "tests/unit/dispatch/registration_support.h"
#include "tests/unit/plugin/errors.h"

namespace opyard::plugin {
namespace {

using opyard::testing::CapturedLog;
using opyard::testing::contains;

constexpr auto kBroken = static_cast<int32_t>(Code::kInternal);

// Holds up who passes until it is opened.
class Gate {
 public:
  int32_t pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return 0;
  }
  void await_somebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ > 0; });
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

struct Generation {
  Generation(Backend backend, uint64_t number)
      : runtime(&device.table, &device, backend, leases, "sham", number) {}
  // A copy under way to a tensor of it.
  void copy_later(const Tensor& to) {
    const auto& memory = dynamic_cast<const DeviceMemory&>(*to.storage()->allocator());
    const Tensor source = make_tensor({8}, ScalarType::kInt8);
    MemoryUse use(memory, LeaseKind::kEvent);
    runtime.calls().copy_in(0, to.raw_data(), source.raw_data(), 8);
    runtime.keep_until_done(0, source.storage(), std::move(use));
  }
  uint64_t copies() const { return leases.count(LeaseKind::kEvent); }
  FakeDevice device;
  Leases leases;
  DeviceRuntime runtime;
};

class DeviceFaults : public ::testing::Test {
 protected:
  void TearDown() override { family_.set_patience(std::chrono::milliseconds(5000)); }
  Tensor tensor() const { return make_tensor({8}, ScalarType::kInt8, device_); }
  static void end_calls() {
    epoch::retire(new char, [](void* mark) { delete static_cast<char*>(mark); });
    epoch::synchronize();
  }

  BackendClaim claim_{"sham"};
  Device device_{claim_.backend()};
  DeviceFamily& family_ = DeviceFamily::of(claim_.backend());
};

TEST_F(DeviceFaults, AQuestionThatHangsHoldsUpWhoAsksOnly) {
  Generation toy(device_.type, 1);
  toy.runtime.publish();
  const Tensor to = tensor();
  toy.copy_later(to);
  Gate gate;
  toy.device.before_query = [&] { return gate.pass(); };
  std::thread asking([&] { toy.runtime.reap(); });
  gate.await_somebody();
  EXPECT_EQ(toy.runtime.bytes_held(), 8u);
  EXPECT_TRUE(toy.runtime.count_fallback("t::f"));
  EXPECT_EQ(toy.runtime.fallback_counts().size(), 1u);
  toy.runtime.reap();
  toy.copy_later(to);
  EXPECT_EQ(toy.copies(), 2u);
  toy.runtime.calls().wait(0);
  gate.let_go();
  asking.join();
  EXPECT_EQ(toy.copies(), 0u);
  EXPECT_EQ(toy.device.live_events, 0u);
}

TEST_F(DeviceFaults, CopiesWhoseEventsFailGoWhenTheirStreamIsEmpty) {
  Generation toy(device_.type, 1);
  toy.runtime.publish();
  const Tensor to = tensor();
  toy.device.before_query = [] { return kBroken; };
  for (int i = 0; i < 1000; ++i) toy.copy_later(to);
  EXPECT_LE(toy.copies(), 256u);
  toy.copy_later(to);
  toy.runtime.reap();
  EXPECT_GT(toy.copies(), 0u);
  toy.runtime.settle();
  EXPECT_EQ(toy.copies(), 0u);
  EXPECT_EQ(toy.device.live_events, 0u);
}

TEST_F(DeviceFaults, WorkOfAnOldOneThatFailsIsToldToUsersOfItsMemory) {
  for (const bool young_first : {true, false}) {
    CapturedLog log;
    Generation first(device_.type, 1);
    first.runtime.publish();
    const Tensor old = tensor();
    Generation second(device_.type, 2);
    second.runtime.publish();
    const Tensor young = tensor();
    first.device.before_wait = [] { return kBroken; };
    young.storage()->check_usable();  // calls of before may go on
    EXPECT_EQ(error_of([&] { old.storage()->check_usable(); }).code(), Code::kInternal);
    first.runtime.withdraw();
    end_calls();
    EXPECT_TRUE(family_.is_mixed());
    if (young_first) {
      young.storage()->check_usable();
    } else {
      EXPECT_EQ(error_of([&] { old.storage()->check_usable(); }).code(), Code::kInternal);
    }
    EXPECT_FALSE(family_.is_mixed());  // waiting again would not help
    young.storage()->check_usable();
    old.storage()->check_usable();
    const std::vector<std::string> lines = log.take();
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [](const std::string& line) { return contains(line, "has failed"); }),
              1);
    first.device.before_wait = nullptr;
  }
}

TEST_F(DeviceFaults, WorkOfTheNewOneThatFailsIsToldToUsersOfItsMemory) {
  Generation first(device_.type, 1);
  first.runtime.publish();
  const Tensor old = tensor();
  Generation second(device_.type, 2);
  second.runtime.publish();
  const Tensor young = tensor();
  second.device.before_wait = [] { return kBroken; };
  old.storage()->check_usable();
  EXPECT_EQ(error_of([&] { young.storage()->check_usable(); }).code(), Code::kInternal);
  second.device.before_wait = nullptr;
}

TEST_F(DeviceFaults, AnOldOneThatHangsHoldsUpUsersOfItsMemoryOnly) {
  CapturedLog log;
  Generation first(device_.type, 1);
  first.runtime.publish();
  const Tensor old = tensor();
  Generation second(device_.type, 2);
  second.runtime.publish();
  first.runtime.withdraw();
  end_calls();
  Gate gate;
  first.device.before_wait = [&] { return gate.pass(); };
  family_.set_patience(std::chrono::milliseconds(1));
  const Tensor young = tensor();
  for (int i = 0; i < 3; ++i) young.storage()->check_usable();
  second.runtime.begin_work();
  std::atomic<bool> through{false};
  std::thread user([&] {
    old.storage()->check_usable();
    through = true;
  });
  gate.await_somebody();
  young.storage()->check_usable();
  EXPECT_FALSE(through);
  const std::vector<std::string> lines = log.take();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return contains(line, "generation 1 of the plugin 'sham' does not end");
                          }),
            1);
  EXPECT_TRUE(family_.is_mixed());
  gate.let_go();
  user.join();
  EXPECT_TRUE(through);
  EXPECT_FALSE(family_.is_mixed());
}

TEST_F(DeviceFaults, OneThatCannotBeSettledIsWaitedForNoMore) {
  Generation first(device_.type, 1);
  first.runtime.publish();
  const Tensor old = tensor();
  Generation second(device_.type, 2);
  second.runtime.publish();
  first.runtime.withdraw();
  end_calls();
  first.device.before_wait = [] { return kBroken; };
  EXPECT_EQ(error_of([&] { first.runtime.settle(); }).code(), Code::kInternal);
  EXPECT_FALSE(family_.is_mixed());
  first.device.before_wait = nullptr;
}

TEST_F(DeviceFaults, ABlockGivenOutTwiceStaysItsFirstOwners) {
  CapturedLog log;
  Generation toy(device_.type, 1);
  toy.runtime.publish();
  const Tensor owner = tensor();
  const char written[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  toy.runtime.calls().copy_in(0, owner.raw_data(), written, 8);
  toy.device.give_instead = reinterpret_cast<opyard_address>(owner.raw_data());
  thread_state.flags |= kThreadZeroMemory;
  const Error error = error_of([&] { tensor(); });
  thread_state.flags &= ~uint32_t{kThreadZeroMemory};
  EXPECT_EQ(error.code(), Code::kInternal);
  EXPECT_TRUE(contains(error.message(), "in use")) << error.message();
  EXPECT_EQ(log.take().size(), 1u);
  toy.device.give_instead = 0;
  EXPECT_EQ(toy.device.frees, 0u);
  EXPECT_EQ(toy.leases.total(), 1u);
  char read[8] = {};
  toy.runtime.calls().copy_out(0, read, owner.raw_data(), 8);
  toy.runtime.calls().wait(0);
  EXPECT_EQ(std::string_view(read, 8), std::string_view(written, 8));
  EXPECT_EQ(toy.device.wild, 0u);
}

}  // namespace
}  // namespace opyard::plugin
