// Devices that come with plugins, in slots: what becomes of their tensors when they go.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/ops.h"
#include "opyard/plugin/host.h"
#include "opyard/runtime/yard.h"

namespace opyard::plugin {
namespace {

using std::chrono::milliseconds;

struct HostDevice : ::testing::Test {
  void SetUp() override {
    HostOptions options;
    options.patience = milliseconds(200);
    host.configure(options);
    change.probe = false;
    change.keep_warm = milliseconds(0);
    host.load(CPU_PLUGIN, change);
    first = host.load(TOY_PLUGIN, change).new_generation;
  }
  static Tensor to(const Tensor& tensor, std::string_view device) {
    return ops::_to_copy(tensor, {}, {}, Device::parse(device));
  }
  static Tensor on_toy() {
    Tensor tensor = make_tensor({2}, ScalarType::kFloat32);
    tensor.data<float>()[0] = 1.5;
    tensor.data<float>()[1] = 2;
    return to(tensor, "toy");
  }
  static float sum(const Tensor& tensor) {
    const Tensor host = to(tensor, "cpu");
    return host.data<float>()[0] + host.data<float>()[1];
  }
  GenerationInfo generation(uint64_t number) const {
    for (const SlotInfo& slot : host.list()) {
      for (const GenerationInfo& one : slot.generations) {
        if (one.number == number) return one;
      }
    }
    return {};
  }
  void await_state(uint64_t number, State state) const {
    for (int i = 0; i < 2000 && generation(number).state != state; ++i) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    const GenerationInfo info = generation(number);
    EXPECT_EQ(to_string(info.state), to_string(state)) << info.why_not_unloaded;
  }

  runtime::Yard yard;  // the operators
  Host& host = Host::global();
  ChangeOptions change;
  uint64_t first = 0;
};

TEST_F(HostDevice, KeptTensorsAreReadUntilTheyGoAndThenTheOldGenerationGoes) {
  Tensor tensor = on_toy();
  EXPECT_GT(generation(first).bytes_held, 0u);
  host.swap("toy", TOY_PLUGIN, change);
  await_state(first, State::kZombie);
  EXPECT_EQ(generation(first).why_not_unloaded, "leases are held: 1 storage");
  EXPECT_EQ(sum(tensor), 3.5f);
  EXPECT_EQ(sum(on_toy()), 3.5f);
  tensor = Tensor();
  await_state(first, State::kClosed);
}

TEST_F(HostDevice, FailedTensorsNameTheirGeneration) {
  const Tensor tensor = on_toy();
  change.tensors = TensorPolicy::kFail;
  host.swap("toy", TOY_PLUGIN, change);
  await_state(first, State::kClosed);
  try {
    sum(tensor);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(error.message().find(str_cat("generation ", first, " of the plugin 'toy'")),
              std::string::npos)
        << error.message();
  }
  EXPECT_EQ(sum(on_toy()), 3.5f);
}

TEST_F(HostDevice, SharedTensorsBelongToTheNewGeneration) {
  const Tensor tensor = on_toy();
  change.tensors = TensorPolicy::kShare;
  const uint64_t second = host.swap("toy", TOY_PLUGIN, change).new_generation;
  await_state(first, State::kClosed);
  EXPECT_EQ(sum(tensor), 3.5f);
  EXPECT_EQ(generation(second).leases[static_cast<size_t>(LeaseKind::kStorage)], 1u);
}

TEST_F(HostDevice, WhatItLacksIsComputedOnTheCpuAndCounted) {
  const Tensor tensor = on_toy();
  EXPECT_EQ(sum(ops::exp(ops::log(tensor))), 3.5f);
  const GenerationInfo info = generation(first);
  ASSERT_EQ(info.fallbacks.size(), 2u);
  EXPECT_EQ(info.fallbacks[0].first, "aten::exp");
  EXPECT_EQ(info.fallbacks[0].second, 1u);
}

// A copy of the file whose note claims something else.
std::string with_claim(const std::string& file, const std::string& claim,
                       const std::string& instead) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const size_t at = bytes.find(claim + std::string(100, '\0'));
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at, instead.size(), instead);
  const std::string path = ::testing::TempDir() + "/other_claim.so";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST_F(HostDevice, ADeviceHasOneRuntime) {
  try {
    host.load(TWIN_PLUGIN, change);
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kAlreadyExists) << error.message();
    EXPECT_NE(error.message().find("which 'toy' is already"), std::string::npos);
  }
  EXPECT_EQ(sum(on_toy()), 3.5f);
}

TEST_F(HostDevice, ADeviceStaysAsLongAsOthersHaveKernelsForIt) {
  host.load(with_claim(CPU_CLAIMING_PLUGIN, "CPU", "device:toy"), change);
  try {
    host.unload("toy", change);
    FAIL() << "was unloaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(error.message().find("kernels by other plugins: axpby"), std::string::npos)
        << error.message();
  }
  host.swap("toy", TOY_PLUGIN, change);
  EXPECT_EQ(sum(on_toy()), 3.5f);
  host.unload("axpby", change);
  host.unload("toy", change);
}

// The toy's own kernels stand at its name; under another claim they would be another device's.
TEST_F(HostDevice, KernelsAtAPrivateDeviceWantItsClaim) {
  const std::string file = with_claim(TOY2_PLUGIN, "device:toy2", std::string("device:toy3\0", 12));
  try {
    host.load(file, change);
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.message();
    EXPECT_NE(error.message().find(".claims = \"device:"), std::string::npos) << error.message();
  }
}

TEST_F(HostDevice, AWrongBuildIsToldWithBoth) {
  std::ifstream in(TOY2_PLUGIN, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string ours = "libopyard.so.0-";
  const std::string theirs = "libopyard.so.9-";
  for (size_t at = 0; (at = bytes.find(ours, at)) != std::string::npos;) {
    bytes.replace(at, ours.size(), theirs);
  }
  const std::string path = ::testing::TempDir() + "/other_build.so";
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    host.load(path, change);
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    for (const std::string& part : {"its build is '" + theirs, "this library's '" + ours}) {
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    }
  }
}

TEST_F(HostDevice, SharedTensorsFollowToWhoeverIsActiveWhenTheyAreHandedOver) {
  const Tensor tensor = on_toy();
  change.tensors = TensorPolicy::kShare;
  change.keep_warm = milliseconds(300);
  const uint64_t second = host.swap("toy", TOY_PLUGIN, change).new_generation;
  const uint64_t third = host.swap("toy", TOY_PLUGIN, change).new_generation;
  await_state(first, State::kClosed);
  await_state(second, State::kClosed);
  EXPECT_EQ(sum(tensor), 3.5f);
  EXPECT_EQ(generation(third).leases[static_cast<size_t>(LeaseKind::kStorage)], 1u);
}

TEST_F(HostDevice, NobodyTakesTensorsOverFromAnUnloadedPlugin) {
  change.tensors = TensorPolicy::kShare;
  EXPECT_THROW(host.unload("toy", change), Error);
  EXPECT_EQ(sum(on_toy()), 3.5f);
}

TEST_F(HostDevice, TheSlotNamesItsDeviceAndWithTheLastGenerationTheNameGoes) {
  const SlotInfo slot = host.list().at(1);
  EXPECT_EQ(slot.device, "toy");
  EXPECT_EQ(slot.backend, "PrivateUse1");
  host.unload("toy", change);
  EXPECT_EQ(generation(first).state, State::kClosed) << generation(first).why_not_unloaded;
  EXPECT_THROW(Device::parse("toy"), Error);
}

}  // namespace
}  // namespace opyard::plugin
