#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/host.h"
#include "opyard/runtime/initialize.h"

namespace opyard::plugin {
namespace {

const std::string kTyped = EXAMPLE_DIR "/libopyard_plugin_axpby.so";
const std::string kBoxed = EXAMPLE_DIR "/libopyard_plugin_axpby_c.so";

float axpby(float x, float y) {
  const Tensor a = make_tensor({1}, ScalarType::kFloat32);
  const Tensor b = make_tensor({1}, ScalarType::kFloat32);
  a.data<float>()[0] = x;
  b.data<float>()[0] = y;
  Stack stack{a, b, 2, 10};
  Dispatcher::global().call_boxed(Dispatcher::global().get("axpby::axpby"), stack);
  return stack.back().to_tensor().data<float>()[0];
}

SlotInfo slot() {
  for (const SlotInfo& each : Host::global().list()) {
    if (each.name == "axpby") return each;
  }
  return {};
}
const GenerationInfo& active(const SlotInfo& slot) {
  return *std::find_if(slot.generations.begin(), slot.generations.end(),
                       [](const GenerationInfo& g) { return g.state == State::kActive; });
}

// The C build takes the C++ build's place and gives it back, and both are proved to be gone after.
TEST(AxpbySwap, TheTwoBuildsTakeEachOthersPlace) {
  initialize();
  Host& host = Host::global();
  ChangeOptions options;
  options.probe = false;
  host.load(kTyped, options);
  EXPECT_EQ(axpby(1, 2), 22.0f);
  EXPECT_TRUE(active(slot()).kernels.at(0).typed);

  EXPECT_THROW(host.swap("axpby", kBoxed, options), Error) << "a typed kernel becomes a boxed one";
  EXPECT_EQ(axpby(1, 2), 22.0f);
  options.allow_downgrade = true;
  host.swap("axpby", kBoxed, options);
  EXPECT_EQ(axpby(1, 2), 22.0f);
  EXPECT_EQ(active(slot()).version, "1.0.1");
  EXPECT_FALSE(active(slot()).kernels.at(0).typed);
  EXPECT_FALSE(active(slot()).same_build);

  host.rollback("axpby");
  EXPECT_EQ(active(slot()).version, "1.0.0");
  host.unload("axpby", options);
  ASSERT_TRUE(host.settle(std::chrono::seconds(20)));
  std::vector<State> ends;
  for (const GenerationInfo& generation : slot().generations) ends.push_back(generation.state);
  // Newest first: the one that was swapped in, the one that was refused, the first.
  EXPECT_EQ(ends, (std::vector<State>{State::kClosed, State::kFailed, State::kClosed}));
  EXPECT_FALSE(Dispatcher::global().find("axpby::axpby"));
}

// Calls that go on meanwhile are all right, also where the C build calls other operators itself.
TEST(AxpbySwap, NoCallIsLostWhileTheyTakeTurns) {
  initialize();
  Host& host = Host::global();
  ChangeOptions options;
  options.probe = false;
  options.allow_downgrade = true;
  options.keep_warm = std::chrono::milliseconds(0);
  host.load(PLUGIN_DIR "/libopyard_plugin_cpu.so", options);
  host.load(kTyped, options);
  std::atomic<bool> over{false};
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> wrong{0};
  const auto keep_calling = [&] {
    const Tensor x = make_tensor({2, 3}, ScalarType::kFloat64);
    for (int i = 0; i < 6; ++i) x.data<double>()[i] = i;
    const Tensor turned = view_of(x, {3, 2}, {1, 3}, 0);
    while (!over) {
      try {
        Stack stack{turned, turned, 2, 10};
        Dispatcher::global().call_boxed(Dispatcher::global().get("axpby::axpby"), stack);
        wrong += stack.back().to_tensor().data<double>()[1] != 36;
      } catch (const Error& error) {
        ++wrong;
        ADD_FAILURE() << error.message();
        return;
      }
      ++calls;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(keep_calling);
  for (int i = 0; i < 40; ++i) {
    const int64_t before = calls;
    host.swap("axpby", i % 2 == 0 ? kBoxed : kTyped, options);
    while (calls == before && wrong == 0) std::this_thread::yield();
    EXPECT_TRUE(host.settle(std::chrono::seconds(60)));  // or there are too many at a time
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  options.allow_loss = true;
  host.unload("axpby", options);
  host.unload("cpu", options);
  ASSERT_TRUE(host.settle(std::chrono::seconds(60)));
  for (const GenerationInfo& generation : slot().generations) {
    if (generation.state == State::kFailed) continue;  // what the test before was refused
    EXPECT_EQ(generation.state, State::kClosed) << generation.why_not_unloaded;
  }
}

}  // namespace
}  // namespace opyard::plugin
