#include "opyard/core/local_keys.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "opyard/core/tensor.h"

namespace opyard {
namespace {

using enum DispatchKey;

struct Local {
  KeySet included = included_keys();
  KeySet excluded = excluded_keys();
  uint32_t flags = thread_state.flags;
  bool operator==(const Local&) const = default;
};

KeySet random_keys(std::mt19937_64& random) {
  return KeySet(random() & random() & random() & KeySet::kFullBits);
}

TEST(LocalKeys, StartWithTheDefaults) {
  EXPECT_EQ(included_keys(), KeySet({BackendSelect, ADInplaceOrView}));
  EXPECT_EQ(excluded_keys(),
            KeySet({AutocastCPU, AutocastMTIA, AutocastMAIA, AutocastXPU, AutocastIPU, AutocastHPU,
                    AutocastXLA, AutocastMPS, AutocastCUDA, AutocastPrivateUse1}));
  EXPECT_EQ(thread_state.included, kDefaultIncluded.bits());
  EXPECT_EQ(thread_state.kept, ~kDefaultExcluded.bits());
}

TEST(LocalKeys, GuardsUndoJustWhatTheyAdded) {
  const IncludeKeysGuard outer(KeySet{Tracer});
  {
    const IncludeKeysGuard inner(KeySet({Tracer, Meta}));
    EXPECT_TRUE(included_keys().has(Meta));
  }
  EXPECT_TRUE(included_keys().has(Tracer));
  EXPECT_FALSE(included_keys().has_backend(Backend::kMeta)) << "backend bits go as well";
  const ExcludeKeysGuard excluding(KeySet{AutocastCPU});
  { const ExcludeKeysGuard again(KeySet({AutocastCPU, Tracer})); }
  EXPECT_TRUE(excluded_keys().has(AutocastCPU));
  EXPECT_FALSE(excluded_keys().has(Tracer));
}

TEST(LocalKeys, ExclusionHoldsFunctionalityOnly) {
  const ExcludeKeysGuard guard(KeySet{CPU});
  EXPECT_TRUE(excluded_keys().has(Dense));
  EXPECT_FALSE(excluded_keys().has_backend(Backend::kCPU));
  set_excluded_keys(KeySet::full());
  EXPECT_EQ(excluded_keys().bits(), KeySet::kFunctionalityBits);
  set_excluded_keys(kDefaultExcluded.add(Dense));
}

TEST(LocalKeys, NamedGuards) {
  {
    const BelowAutogradGuard guard;
    EXPECT_EQ(excluded_keys() ^ kDefaultExcluded,
              KeySet({AutogradOther, AutogradFunctionality, AutogradNestedTensor}));
  }
  const BelowADInplaceOrViewGuard guard;
  EXPECT_EQ(excluded_keys() ^ kDefaultExcluded,
            KeySet({AutogradOther, AutogradFunctionality, AutogradNestedTensor, ADInplaceOrView}));
  EXPECT_EQ(included_keys(), kDefaultIncluded);
}

TEST(LocalKeys, AForcedStateReplacesBoth) {
  const IncludeKeysGuard outer(KeySet{Tracer});
  {
    const ForceKeysGuard forced(KeySet({CPU, Meta}), KeySet({Tracer, CUDA}));
    EXPECT_EQ(included_keys(), KeySet({CPU, Meta}));
    EXPECT_EQ(excluded_keys(), KeySet({Tracer, Dense}));
  }
  EXPECT_EQ(included_keys(), kDefaultIncluded.add(Tracer));
  EXPECT_EQ(excluded_keys(), kDefaultExcluded);
}

// Puts one random guard around `body`, and checks what it does and that it leaves nothing behind.
void with_random_guard(std::mt19937_64& random, const std::function<void()>& body) {
  const Local before;
  const KeySet keys = random_keys(random);
  const KeySet others = random_keys(random);
  const KeySet functionality(keys.bits() & KeySet::kFunctionalityBits);
  switch (random() % 6) {
    case 0: {
      const IncludeKeysGuard guard(keys);
      EXPECT_EQ(included_keys(), before.included | keys);
      EXPECT_EQ(excluded_keys(), before.excluded);
      body();
      break;
    }
    case 1: {
      const ExcludeKeysGuard guard(keys);
      EXPECT_EQ(excluded_keys(), before.excluded | functionality);
      EXPECT_EQ(included_keys(), before.included);
      body();
      break;
    }
    case 2: {
      const ForceKeysGuard guard(others, keys);
      EXPECT_EQ(included_keys(), others);
      EXPECT_EQ(excluded_keys(), functionality);
      body();
      break;
    }
    case 3: {
      const bool enabled = random() % 2 == 0;
      const InferenceModeGuard guard(enabled);
      EXPECT_EQ(in_inference_mode(), enabled);
      EXPECT_EQ(included_keys().has(ADInplaceOrView), !enabled);
      EXPECT_EQ((excluded_keys() & kAutogradKeys), enabled ? kAutogradKeys : KeySet());
      body();
      break;
    }
    case 4: {
      const BelowADInplaceOrViewGuard guard;
      body();
      break;
    }
    default: {
      const ThreadStateGuard guard(ThreadStateSnapshot{});
      EXPECT_EQ(included_keys(), kDefaultIncluded) << "nothing is inherited";
      EXPECT_EQ(excluded_keys(), kDefaultExcluded);
      body();
    }
  }
  EXPECT_EQ(Local(), before);
}

TEST(LocalKeys, GuardsNestInAnyOrder) {
  std::mt19937_64 random(3);
  std::function<void(int)> nest = [&](int depth) {
    if (depth == 0) return;
    for (int i = 0; i < 2; ++i) with_random_guard(random, [&] { nest(depth - 1); });
  };
  for (int round = 0; round < 30; ++round) nest(6);
  EXPECT_EQ(Local(), (Local{kDefaultIncluded, kDefaultExcluded, 0}));
}

TEST(InferenceMode, FlagsAndKeysWhenNested) {
  const auto expect = [](bool inference) {
    EXPECT_EQ(in_inference_mode(), inference);
    EXPECT_EQ((thread_state.flags & kThreadNoGrad) != 0, inference);
    EXPECT_EQ(included_keys().has(ADInplaceOrView), !inference);
    EXPECT_TRUE(included_keys().has(BackendSelect));
    EXPECT_EQ(excluded_keys() & kAutogradKeys, inference ? kAutogradKeys : KeySet());
    EXPECT_FALSE(excluded_keys().has(ADInplaceOrView)) << "left out, never excluded";
    EXPECT_TRUE(excluded_keys().has(AutocastCPU));
  };
  expect(false);
  {
    const InferenceModeGuard on;
    expect(true);
    {
      const InferenceModeGuard off(false);
      expect(false);
      {
        const InferenceModeGuard on_again(true);
        expect(true);
      }
      expect(false);
    }
    expect(true);
  }
  expect(false);
}

TEST(InferenceMode, KeepsOtherFlags) {
  thread_state.flags |= kThreadZeroMemory;
  {
    const InferenceModeGuard on;
    EXPECT_TRUE(thread_state.flags & kThreadZeroMemory);
  }
  EXPECT_EQ(thread_state.flags, static_cast<uint32_t>(kThreadZeroMemory));
  thread_state.flags = 0;
}

TEST(InferenceMode, NewTensorsCarryNeitherAutogradNorADInplaceOrView) {
  const Tensor normal = make_tensor({4}, ScalarType::kFloat32);
  EXPECT_EQ(normal.key_set(), KeySet({CPU, ADInplaceOrView, AutogradCPU, AutocastCPU}));
  const InferenceModeGuard on;
  EXPECT_EQ(make_tensor({4}, ScalarType::kFloat32).key_set(), KeySet({CPU, AutocastCPU}));
  EXPECT_EQ(wrapped_number(2.0).key_set(), KeySet({CPU, AutocastCPU}));
  EXPECT_EQ(make_strided({2, 2}, {1, 2}, ScalarType::kInt64, Backend::kCPU).key_set(),
            KeySet({CPU, AutocastCPU}));
  EXPECT_EQ(view_of(normal, {2}, {1}, 0).key_set(), normal.key_set())
      << "a view of a normal tensor";
  const InferenceModeGuard off(false);
  EXPECT_EQ(make_tensor({4}, ScalarType::kFloat32).key_set(), normal.key_set());
}

TEST(InferenceMode, NewTensorsBelowAGuardAreFull) {
  const BelowADInplaceOrViewGuard guard;
  EXPECT_EQ(make_tensor({4}, ScalarType::kFloat32).key_set(),
            KeySet({CPU, ADInplaceOrView, AutogradCPU, AutocastCPU}));
}

TEST(ThreadState, SnapshotsTravelToOtherThreads) {
  const IncludeKeysGuard including(KeySet{Tracer});
  const ExcludeKeysGuard excluding(KeySet{Functionalize});
  const InferenceModeGuard inference;
  const Local here;
  const ThreadStateSnapshot snapshot = ThreadStateSnapshot::take();
  std::thread([&] {
    const Local fresh;
    EXPECT_EQ(fresh, (Local{kDefaultIncluded, kDefaultExcluded, 0}));
    {
      const ThreadStateGuard installed(snapshot);
      EXPECT_EQ(Local(), here);
    }
    EXPECT_EQ(Local(), fresh);
  }).join();
}

TEST(ThreadState, ATaskNeverInheritsFromTheOneBefore) {
  std::thread([] {
    std::vector<ThreadStateSnapshot> tasks(3);
    for (size_t i = 0; i < tasks.size(); ++i) {
      const DispatchKey own = i == 0 ? Tracer : i == 1 ? Functionalize : Python;
      const IncludeKeysGuard guard(KeySet{own});
      tasks[i] = ThreadStateSnapshot::take();
    }
    // A task that forgets to put things back is told apart from the next one.
    for (const ThreadStateSnapshot& task : tasks) {
      const ThreadStateGuard installed(task);
      EXPECT_EQ((included_keys() - kDefaultIncluded).keys().size(), 1u);
      set_included_keys(KeySet::full());
      thread_state.flags = ~0u;
    }
    EXPECT_EQ(Local(), (Local{kDefaultIncluded, kDefaultExcluded, 0}));
  }).join();
}

TEST(ThreadState, ThePinStaysWithItsThread) {
  EpochSlot* const slot = thread_state.slot;
  int generator = 0;
  int budget = 0;
  auto snapshot = ThreadStateSnapshot::take();
  snapshot.with_generator(reinterpret_cast<Generator*>(&generator))
      .with_budget(reinterpret_cast<AllocationBudget*>(&budget))
      .with_flags(kThreadZeroMemory);
  std::thread([&] {
    const ThreadStateGuard installed(snapshot);
    EXPECT_EQ(thread_state.slot, nullptr);
    EXPECT_EQ(thread_state.root, nullptr);
    EXPECT_EQ(static_cast<void*>(thread_state.generator), &generator);
    EXPECT_EQ(static_cast<void*>(thread_state.budget), &budget);
    EXPECT_EQ(thread_state.flags, static_cast<uint32_t>(kThreadZeroMemory));
  }).join();
  EXPECT_EQ(thread_state.slot, slot);
}

}  // namespace
}  // namespace opyard
