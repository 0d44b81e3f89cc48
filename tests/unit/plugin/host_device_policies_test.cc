// Devices in the host: what becomes of their tensors when generations come and go.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "opyard/ops.h"
#include "opyard/plugin/host.h"
#include "opyard/runtime/yard.h"
#include "tests/unit/plugin/errors.h"

namespace opyard::plugin {
namespace {

using Values = std::vector<float>;
using std::chrono::milliseconds;

std::string path_of(const std::string& name) {
  return EXAMPLE_DIR "/libopyard_plugin_" + name + ".so";
}

class HostDevicePolicies : public ::testing::Test {
 protected:
  void SetUp() override {
    static runtime::Yard yard;
    static const bool loaded = (yard.load_plugin("cpu"), true);
    (void)loaded;
    HostOptions options = host_.options();
    options.patience = milliseconds(200);
    host_.configure(options);
  }
  void TearDown() override {
    for (const char* name : {"toy", "toy2"}) {
      try {
        host_.unload(name);
      } catch (const Error&) {
      }
    }
    EXPECT_TRUE(host_.settle(milliseconds(10'000)));
    for (const SlotInfo& slot : host_.list()) {
      for (const GenerationInfo& each : slot.generations) {
        if (slot.name == "cpu") continue;
        EXPECT_TRUE(each.state == State::kClosed || each.state == State::kFailed)
            << slot.name << " " << each.number << " is " << to_string(each.state) << ": "
            << each.why_not_unloaded;
      }
    }
  }

  static Tensor to(const Tensor& tensor, const std::string& device, bool non_blocking = false) {
    return ops::_to_copy(tensor, {}, {}, Device::parse(device), {}, non_blocking);
  }
  static Tensor floats(const Values& values) {
    Tensor tensor = make_tensor({static_cast<int64_t>(values.size())}, ScalarType::kFloat32);
    std::copy(values.begin(), values.end(), tensor.data<float>());
    return tensor;
  }
  static Values values(const Tensor& tensor) {
    const Tensor host = to(tensor, "cpu");
    return {host.data<float>(), host.data<float>() + host.numel()};
  }
  SlotInfo slot(std::string_view name) const {
    for (const SlotInfo& each : host_.list()) {
      if (each.name == name) return each;
    }
    return {};
  }
  GenerationInfo generation(std::string_view name, uint64_t number) const {
    for (const GenerationInfo& each : slot(name).generations) {
      if (each.number == number) return each;
    }
    return {};
  }
  ChangeReport swap(TensorPolicy policy = TensorPolicy::kKeep,
                    milliseconds keep_warm = milliseconds(0)) {
    ChangeOptions options;
    options.tensors = policy;
    options.keep_warm = keep_warm;
    return host_.swap("toy", path_of("toy"), options);
  }
  // Until the generation has reached the state.
  bool reaches(std::string_view name, uint64_t number, State state) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (generation(name, number).state != state) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }

  Host& host_ = Host::global();
};

TEST_F(HostDevicePolicies, ADeviceComesAndGoesWithItsPlugin) {
  EXPECT_THROW(to(floats({1}), "toy"), Error);
  host_.load(path_of("toy"));
  EXPECT_EQ(slot("toy").device, "toy");
  EXPECT_EQ(slot("toy").backend.substr(0, 10), "PrivateUse");
  Tensor a = to(floats({1, -2}), "toy");
  EXPECT_EQ(values(ops::relu(a)), (Values{1, 0}));
  EXPECT_EQ(values(ops::sub(a, a)), (Values{0, 0}));
  const GenerationInfo info = generation("toy", slot("toy").active);
  EXPECT_EQ(info.bytes_held, 8u);
  ASSERT_EQ(info.fallbacks.size(), 1u);
  EXPECT_EQ(info.fallbacks[0].first, "aten::sub.Tensor");
  a = Tensor();
  EXPECT_EQ(host_.unload("toy").old_state, State::kClosed);
  EXPECT_THROW(to(floats({1}), "toy"), Error);
  EXPECT_EQ(slot("toy").device, "");
}

TEST_F(HostDevicePolicies, TwoStandSideBySide) {
  host_.load(path_of("toy"));
  host_.load(path_of("toy2"));
  EXPECT_NE(slot("toy").backend, slot("toy2").backend);
  const Tensor a = to(floats({1, 2}), "toy");
  const Tensor b = to(a, "toy2");
  EXPECT_EQ(values(ops::add(b, b)), (Values{2, 4}));
  EXPECT_THROW(ops::add(a, b), Error);
}

TEST_F(HostDevicePolicies, KeptTensorsKeepTheirGenerationUntilTheLastIsGone) {
  const uint64_t first = host_.load(path_of("toy")).new_generation;
  Tensor old = to(floats({1, 2}), "toy");
  swap();
  EXPECT_EQ(values(old), (Values{1, 2}));
  EXPECT_EQ(values(ops::add(old, to(floats({3, 4}), "toy"))), (Values{4, 6}));
  EXPECT_TRUE(reaches("toy", first, State::kZombie));
  EXPECT_NE(generation("toy", first).why_not_unloaded.find("1 storage"), std::string::npos);
  EXPECT_EQ(generation("toy", first).bytes_held, 8u);
  old = Tensor();
  EXPECT_TRUE(reaches("toy", first, State::kClosed));
}

TEST_F(HostDevicePolicies, SharedMemoryGoesToTheNextGeneration) {
  const uint64_t first = host_.load(path_of("toy")).new_generation;
  Tensor old = to(floats({1, 2}), "toy");
  const uint64_t second = swap(TensorPolicy::kShare).new_generation;
  EXPECT_TRUE(reaches("toy", first, State::kClosed));
  EXPECT_EQ(generation("toy", second).bytes_held, 8u);
  EXPECT_EQ(values(ops::mul(old, old)), (Values{1, 4}));
  old = Tensor();
  EXPECT_EQ(generation("toy", second).bytes_held, 0u);
}

TEST_F(HostDevicePolicies, FailedTensorsNameTheirGeneration) {
  const uint64_t first = host_.load(path_of("toy")).new_generation;
  const Tensor old = to(floats({1, 2}), "toy");
  swap(TensorPolicy::kFail);
  EXPECT_TRUE(reaches("toy", first, State::kClosed));
  const Error error = error_of([&] { values(old); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(says(error, "generation " + std::to_string(first) + " of the plugin 'toy'"))
      << error.message();
  EXPECT_EQ(error_of([&] { ops::add(old, old); }).code(), Code::kFailedPrecondition);
  EXPECT_EQ(values(to(floats({5}), "toy")), Values{5});
}

// Each piece of work takes a while, and nobody waits for it but the end of the generation.
TEST_F(HostDevicePolicies, WhatIsQueuedIsDoneBeforeTheGenerationEnds) {
  setenv("OPYARD_TOY_LATENCY_US", "20000", 1);
  const uint64_t first = host_.load(path_of("toy")).new_generation;
  unsetenv("OPYARD_TOY_LATENCY_US");
  Tensor kept = to(floats({0, 0}), "toy");
  for (int i = 0; i < 8; ++i) ops::add_(kept, to(floats({1, 2}), "toy", true));
  swap();  // while most of it is queued
  EXPECT_EQ(values(kept), (Values{8, 16}));
  for (int i = 0; i < 8; ++i) ops::mul(to(floats({1, 2}), "toy", true), 2);  // given up at once
  kept = Tensor();
  EXPECT_TRUE(reaches("toy", first, State::kClosed));
}

TEST_F(HostDevicePolicies, ARollbackBringsTheOldDeviceBack) {
  const uint64_t first = host_.load(path_of("toy")).new_generation;
  const Tensor a = to(floats({1, 2}), "toy");
  const uint64_t second = swap(TensorPolicy::kKeep, milliseconds(60'000)).new_generation;
  const Tensor b = to(a, "toy");
  EXPECT_EQ(generation("toy", second).bytes_held, 8u);
  ChangeOptions options;
  options.keep_warm = milliseconds(0);
  host_.rollback("toy", options);
  const Tensor c = to(b, "toy");
  EXPECT_EQ(generation("toy", first).bytes_held, 16u);
  EXPECT_EQ(values(ops::add(c, b)), (Values{2, 4}));
}

TEST_F(HostDevicePolicies, WithoutTheFallbackMissingKernelsAreMissing) {
  HostOptions options = host_.options();
  options.cpu_fallback = false;
  host_.configure(options);
  host_.load(path_of("toy"));
  options.cpu_fallback = true;
  host_.configure(options);
  const Tensor a = to(floats({1, 2}), "toy");
  EXPECT_EQ(values(ops::add(a, a)), (Values{2, 4}));
  const Error error = error_of([&] { ops::sub(a, a); });
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_TRUE(says(error, "plugin 'toy'") && says(error, "cpu_fallback")) << error.message();
}

TEST_F(HostDevicePolicies, CallsGoOnWhileGenerationsAreExchanged) {
  host_.load(path_of("toy"));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < errors.size(); ++t) {
    threads.emplace_back([&, t] {
      try {
        Tensor sum = to(floats({0, 0}), "toy");
        for (float n = 0; !stop; ++n) {
          const Tensor a = to(floats({n, 1}), "toy", static_cast<int>(n) % 2);
          wrong += values(ops::add(a, a)) != Values{2 * n, 2};
          wrong += values(ops::sub(a, a)) != Values{0, 0};
          ops::add_(sum, a);
          ++calls;
          if (static_cast<int>(n) % 64 == 63) sum = to(floats({0, 0}), "toy");
        }
      } catch (const Error& error) {
        errors[t] = error.message();
      }
    });
  }
  for (int i = 0; i < 12; ++i) {
    const uint64_t before = calls;
    swap(i % 2 ? TensorPolicy::kShare : TensorPolicy::kKeep);
    while (calls < before + 20 && errors[0].empty() && errors[1].empty()) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace opyard::plugin
