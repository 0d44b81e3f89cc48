// Calls of one operator race with registration, overriding, removal and redefinition of the same
// operator. Two seconds by default; OPYARD_TORTURE_SECONDS sets another length. Seeds are fixed and
// printed.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "opyard/dispatch/dispatcher.h"

namespace opyard {
namespace {

using enum DispatchKey;

constexpr uint64_t kSeeds[] = {1, 20240229, 0xfeedface};

int seconds() {
  const char* wish = std::getenv("OPYARD_TORTURE_SECONDS");
  return wish ? std::atoi(wish) : 2;
}

int64_t one(const Tensor&) { return 1; }
int64_t two(const Tensor&) { return 2; }
void three(const Kernel&, Keys, const IValue*, uint32_t, IValue* out, uint32_t) {
  out[0] = IValue(int64_t{3});
}

struct Counts {
  std::atomic<int64_t> answered{0};
  std::atomic<int64_t> refused{0};
  std::atomic<int64_t> wrong{0};
};

// Calls until told to stop. A call is answered by one of the kernels, or refused with an error that
// says so: nothing else may happen.
void call_until(const std::atomic<bool>& stop, const Dispatcher& dispatcher, Counts& counts,
                bool typed) {
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  while (!stop.load(std::memory_order_relaxed)) {
    const auto op = dispatcher.find_op("t::f");
    if (!op || !op->entry().schema()) continue;
    try {
      int64_t answer = 0;
      if (typed) {
        answer = dispatcher.call<int64_t, const Tensor&>(*op, x);
      } else {
        const IValue in(x);
        IValue out;
        dispatcher.call_boxed(*op, &in, 1, &out, 1);
        answer = out.to_int();
      }
      ++(answer >= 1 && answer <= 3 ? counts.answered : counts.wrong);
    } catch (const Error& error) {
      const bool known = error.code() == Code::kUnimplemented || error.code() == Code::kNotFound;
      ++(known ? counts.refused : counts.wrong);
    }
  }
}

// One random change of what is registered; slots are emptied and refilled.
void change_something(Dispatcher& dispatcher, std::mt19937_64& random,
                      std::vector<Registration>& slots) {
  Registration& slot = slots[random() % slots.size()];
  const auto put = [&](BlockKind kind, std::string_view ns, std::string_view key, auto fill) {
    slot.reset();
    try {
      slot = dispatcher.register_block(kind, ns, key, fill);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kAlreadyExists) << error.message();
    }
  };
  switch (random() % 7) {
    case 0:
      return slot.reset();
    case 1:
      return put(BlockKind::kFragment, "t", "", [](Library& m) { m.def("f(Tensor x) -> int"); });
    case 2:
      return put(BlockKind::kImpl, "t", "CPU",
                 [](Library& m) { m.override_impl("f", OPYARD_FN(one)); });
    case 3:
      return put(BlockKind::kImpl, "t", "",
                 [](Library& m) { m.override_impl("f", OPYARD_FN(two)); });
    case 4:
      return put(BlockKind::kImpl, "t", "AutogradCPU",
                 [](Library& m) { m.override_impl("f", BoxedKernel{&three}); });
    case 5:
      return put(BlockKind::kImpl, "t", "AutogradCPU",
                 [](Library& m) { m.override_impl("f", Fallthrough{}); });
    default:
      return put(BlockKind::kImpl, "_", "CPU", [](Library& m) { m.fallback(BoxedKernel{&three}); });
  }
}

TEST(Torture, CallsRaceWithEveryChange) {
  const auto each = std::chrono::duration<double>(seconds()) / std::size(kSeeds);
  for (const uint64_t seed : kSeeds) {
    Dispatcher dispatcher;
    Counts counts;
    std::atomic<bool> stop{false};
    std::thread typed([&] { call_until(stop, dispatcher, counts, true); });
    std::thread boxed([&] { call_until(stop, dispatcher, counts, false); });
    std::mt19937_64 random(seed);
    std::vector<Registration> slots(6);
    int64_t changes = 0;
    const auto end = std::chrono::steady_clock::now() + each;
    while (std::chrono::steady_clock::now() < end) {
      change_something(dispatcher, random, slots);
      if (++changes % 64 == 0) dispatcher.check_invariants();
    }
    stop = true;
    typed.join();
    boxed.join();
    slots.clear();
    EXPECT_EQ(counts.wrong, 0) << "seed " << seed;
    EXPECT_GT(counts.answered, 0) << "seed " << seed;
    EXPECT_FALSE(dispatcher.find_op("t::f"));
    dispatcher.synchronize();
    std::printf("seed %llu: %lld changes, %lld calls answered, %lld refused\n",
                static_cast<unsigned long long>(seed), static_cast<long long>(changes),
                static_cast<long long>(counts.answered.load()),
                static_cast<long long>(counts.refused.load()));
  }
  EXPECT_EQ(epoch::pending(), 0u);
}

}  // namespace
}  // namespace opyard
