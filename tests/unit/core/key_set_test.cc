#include <gtest/gtest.h>

#include <random>
#include <set>

#include "opyard/core/dispatch_key_set.h"
#include "tests/unit/core/spec_keys.h"

namespace opyard {
namespace {

using enum DispatchKey;

std::vector<DispatchKey> all_runtime_keys() {
  std::vector<DispatchKey> keys;
  for (int slot = 1; slot < kNumSlots; ++slot) keys.push_back(key_of_slot(slot));
  return keys;
}

std::vector<Backend> all_backends() {
  std::vector<Backend> backends;
  for (int i = 1; i <= kNumBackends; ++i) backends.push_back(static_cast<Backend>(i));
  return backends;
}

std::vector<DispatchKey> building_blocks() {
  std::vector<DispatchKey> blocks;
  for (const spec::Functionality& row : spec::kFunctionalities) {
    if (row.per_backend) blocks.push_back(static_cast<DispatchKey>(row.value));
  }
  return blocks;
}

// Sets of all sizes: a few random bits, or most of them.
std::vector<KeySet> random_sets(int count) {
  std::mt19937_64 random(7);
  std::vector<KeySet> sets = {KeySet(), KeySet::full()};
  for (int i = 0; i < count; ++i) {
    uint64_t bits = random();
    for (uint64_t thinner = random() % 5; thinner > 0; --thinner) bits &= random();
    sets.emplace_back(bits & KeySet::kFullBits);
  }
  return sets;
}

// The keys of a set, ascending, by looking at every bit of the description's table.
std::vector<DispatchKey> listed(KeySet set) {
  std::vector<DispatchKey> keys;
  for (const spec::Functionality& row : spec::kFunctionalities) {
    if (row.bit < 0 || !(set.bits() >> row.bit & 1)) continue;
    if (!row.per_backend) keys.push_back(static_cast<DispatchKey>(row.value));
    for (int b = 0; row.per_backend && b < kNumBackends; ++b) {
      if (set.bits() >> b & 1) keys.push_back(key_of_slot(row.slot + b));
    }
  }
  return keys;
}

// The highest key of a set by the same table: Undefined when a functionality lacks its backend.
DispatchKey highest(KeySet set) {
  const spec::Functionality* top = nullptr;
  for (const spec::Functionality& row : spec::kFunctionalities) {
    if (row.bit >= 0 && (set.bits() >> row.bit & 1)) top = &row;
  }
  if (!top) return Undefined;
  if (!top->per_backend) return static_cast<DispatchKey>(top->value);
  for (int b = kNumBackends - 1; b >= 0; --b) {
    if (set.bits() >> b & 1) return key_of_slot(top->slot + b);
  }
  return Undefined;
}

TEST(KeySet, EmptyOnesHaveNothing) {
  const KeySet empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty, KeySet());
  EXPECT_EQ(empty, KeySet(Undefined));
  EXPECT_TRUE(empty.keys().empty());
  EXPECT_EQ(empty.highest_priority(), Undefined);
  EXPECT_EQ(empty.highest_functionality(), Undefined);
  EXPECT_EQ(empty.highest_backend(), Backend::kNone);
  EXPECT_EQ(empty.slot(), 0);
  for (const DispatchKey key : all_runtime_keys()) EXPECT_FALSE(empty.has(key));
  for (const Backend backend : all_backends()) EXPECT_FALSE(empty.has_backend(backend));
}

TEST(KeySet, SingletonsOfRuntimeKeys) {
  for (const DispatchKey key : all_runtime_keys()) {
    SCOPED_TRACE(to_string(key));
    const KeySet set(key);
    EXPECT_EQ(set.keys(), std::vector<DispatchKey>{key});
    EXPECT_EQ(KeySet().add(key), set);
    EXPECT_EQ(set.add(key), set);
    EXPECT_EQ(set.highest_priority(), key);
    EXPECT_EQ(set.highest_functionality(), functionality_of(key));
    EXPECT_EQ(set.highest_backend(), backend_of(key));
    for (const DispatchKey other : all_runtime_keys()) EXPECT_EQ(set.has(other), other == key);
    EXPECT_EQ(set.remove(key), KeySet(backend_of(key)));
    EXPECT_TRUE(set.remove(key).remove_backend(backend_of(key)).empty());
  }
}

TEST(KeySet, SingletonsOfBackendsAndBuildingBlocks) {
  for (const Backend backend : all_backends()) {
    const KeySet set(backend);
    EXPECT_TRUE(set.has_backend(backend));
    EXPECT_EQ(set.highest_backend(), backend);
    EXPECT_TRUE(set.keys().empty());
    EXPECT_EQ(set.slot(), 0);
    EXPECT_TRUE(set.remove_backend(backend).empty());
  }
  for (const DispatchKey block : building_blocks()) {
    const KeySet set(block);
    EXPECT_TRUE(set.has(block));
    EXPECT_TRUE(set.keys().empty());
    EXPECT_EQ(set.highest_functionality(), block);
    EXPECT_EQ(set.highest_priority(), Undefined) << "never the first backend's";
    EXPECT_EQ(set.slot(), 0);
    EXPECT_TRUE(set.remove(block).empty());
    for (const Backend backend : all_backends()) {
      EXPECT_EQ(set | KeySet(backend), KeySet(runtime_key(block, backend)));
    }
  }
}

TEST(KeySet, UndefinedAndAliasesHaveNoBits) {
  std::vector<DispatchKey> keys = {Undefined};
  for (const char* alias : spec::kAliases) keys.push_back(parse_dispatch_key(alias));
  for (const DispatchKey key : keys) {
    EXPECT_TRUE(KeySet(key).empty());
    EXPECT_FALSE(KeySet::full().has(key)) << "nobody has them";
    EXPECT_EQ(KeySet(CPU).add(key), KeySet(CPU));
    EXPECT_EQ(KeySet(CPU).remove(key), KeySet(CPU));
  }
}

TEST(KeySet, DenotesACrossProduct) {
  const KeySet set({CPU, CUDA, AutogradCPU, AutogradCUDA});
  EXPECT_EQ(KeySet({CPU, AutogradCUDA}), set);
  EXPECT_EQ(KeySet({CUDA, AutogradCPU}), set);
  EXPECT_EQ(KeySet({Dense, AutogradFunctionality}) | KeySet(Backend::kCPU) | KeySet(Backend::kCUDA),
            set);
  EXPECT_EQ(KeySet(CPU), KeySet(Dense) | KeySet(Backend::kCPU));
  const std::vector<DispatchKey> wanted = {CPU, CUDA, AutogradCPU, AutogradCUDA};
  EXPECT_EQ(set.keys(), wanted);
  const std::vector<DispatchKey> between = {CPU, CUDA, ADInplaceOrView, AutogradCPU, AutogradCUDA};
  EXPECT_EQ(set.add(ADInplaceOrView).keys(), between);
  for (const DispatchKey a : all_runtime_keys()) {
    for (const DispatchKey b : all_runtime_keys()) {
      const KeySet both({a, b});
      ASSERT_TRUE(both.has(a) && both.has(b)) << to_string(both);
      const std::set<Backend> backends = {backend_of(a), backend_of(b)};
      size_t keys = 0;
      for (const DispatchKey each :
           std::set<DispatchKey>{functionality_of(a), functionality_of(b)}) {
        keys += is_building_block(each) ? backends.size() - backends.contains(Backend::kNone) : 1;
      }
      ASSERT_EQ(both.keys().size(), keys) << to_string(both);
    }
  }
}

TEST(KeySet, RemovalTakesFunctionalityAndKeepsBackends) {
  EXPECT_EQ(KeySet({CPU, AutogradCUDA}).remove(AutogradCUDA), KeySet({CPU, CUDA}));
  for (const DispatchKey a : all_runtime_keys()) {
    for (const DispatchKey b : all_runtime_keys()) {
      const KeySet set({a, b});
      const KeySet left = set.remove(b);
      ASSERT_EQ(left, set - KeySet(b));
      ASSERT_EQ(left.bits() & KeySet::kBackendBits, set.bits() & KeySet::kBackendBits);
      ASSERT_FALSE(left.has(functionality_of(b)));
      ASSERT_EQ(left.has(functionality_of(a)), functionality_of(a) != functionality_of(b));
      // … for every backend.
      for (const Backend backend : all_backends()) {
        ASSERT_FALSE(left.has(runtime_key(functionality_of(b), backend)));
      }
    }
  }
}

TEST(KeySet, OperatorsOnBits) {
  const std::vector<KeySet> sets = random_sets(60);
  for (const KeySet a : sets) {
    for (const KeySet b : sets) {
      ASSERT_EQ((a | b).bits(), a.bits() | b.bits());
      ASSERT_EQ((a & b).bits(), a.bits() & b.bits());
      ASSERT_EQ((a ^ b).bits(), a.bits() ^ b.bits());
      ASSERT_EQ((a - b).bits(), a.bits() & ~(b.bits() & KeySet::kFunctionalityBits));
      ASSERT_EQ(a ^ b ^ b, a);
      ASSERT_EQ(a.has_any(b), (a.bits() & b.bits()) != 0);
      ASSERT_EQ(a == b, a.bits() == b.bits());
    }
  }
  // Why sets are only masked with what full_after() gives.
  EXPECT_EQ(KeySet({CPU, AutogradCPU}) & KeySet(CUDA), KeySet(Dense));
}

TEST(KeySet, AddRemoveAndHasOnRandomSets) {
  for (const KeySet set : random_sets(100)) {
    for (const DispatchKey key : all_runtime_keys()) {
      const uint64_t bits = KeySet(key).bits();
      ASSERT_EQ(set.has(key), (set.bits() & bits) == bits);
      ASSERT_EQ(set.add(key).bits(), set.bits() | bits);
      ASSERT_EQ(set.remove(key).bits(), set.bits() & ~(bits & KeySet::kFunctionalityBits));
    }
    for (const Backend backend : all_backends()) {
      ASSERT_EQ(set.remove_backend(backend).bits(), set.bits() & ~KeySet(backend).bits());
    }
  }
}

TEST(KeySet, FullHasEverythingAndIteratesAllSlotsButUndefined) {
  const KeySet full = KeySet::full();
  for (const spec::Functionality& row : spec::kFunctionalities) {
    const auto key = static_cast<DispatchKey>(row.value);
    EXPECT_EQ(full.has(key), row.bit >= 0) << row.name;
  }
  for (const Backend backend : all_backends()) EXPECT_TRUE(full.has_backend(backend));
  EXPECT_EQ(full.bits() >> 63, 0u) << "one bit is free";
  EXPECT_EQ(full.keys(), all_runtime_keys());
  EXPECT_EQ(full.keys().size(), 137u);
}

TEST(KeySet, WhatLiesBelowAKey) {
  for (const spec::Functionality& of : spec::kFunctionalities) {
    const auto key = static_cast<DispatchKey>(of.value);
    uint64_t after = KeySet::kBackendBits;
    for (const spec::Functionality& row : spec::kFunctionalities) {
      if (row.bit >= 0 && row.value < of.value) after |= uint64_t{1} << row.bit;
    }
    const KeySet wanted(after);
    EXPECT_EQ(KeySet::full_after(key), wanted.add(PythonDispatcher)) << of.name;
    EXPECT_EQ(KeySet::below(key), KeySet::full_after(key).remove(key)) << of.name;
    EXPECT_FALSE(KeySet::below(key).has(key)) << of.name;
    if (!of.per_backend) continue;
    for (const Backend backend : all_backends()) {
      EXPECT_EQ(KeySet::full_after(runtime_key(key, backend)), KeySet::full_after(key));
      EXPECT_EQ(KeySet::below(runtime_key(key, backend)), KeySet::below(key));
    }
  }
}

TEST(KeySet, IterationAndHighestKeys) {
  for (const KeySet set : random_sets(3000)) {
    ASSERT_EQ(set.keys(), listed(set)) << std::hex << set.bits();
    ASSERT_EQ(set.highest_priority(), highest(set)) << std::hex << set.bits();
    ASSERT_EQ(key_of_slot(set.slot()), highest(set));
    const KeySet layouts({Dense, Quantized, Sparse, SparseCsr});
    ASSERT_EQ(set.highest_priority_backend_key(),
              highest(KeySet(set.bits() & (layouts.bits() | KeySet::kBackendBits))));
  }
}

TEST(KeySet, Priorities) {
  EXPECT_EQ(KeySet({CPU, CUDA}).highest_priority(), CUDA);
  EXPECT_EQ(KeySet({CUDA, PrivateUse1}).highest_priority(), PrivateUse1);
  EXPECT_EQ(KeySet({CPU, Meta, PrivateUse3}).highest_priority(), Meta);
  EXPECT_EQ(KeySet({AutogradCPU, CPU}).highest_priority_backend_key(), CPU);
  EXPECT_EQ(KeySet({Functionalize, SparseCUDA}).highest_priority_backend_key(), SparseCUDA);
  EXPECT_EQ(KeySet({CUDA, QuantizedCUDA}).highest_priority_backend_key(), QuantizedCUDA);
}

TEST(KeySet, EntriesRepeatUndefinedWhereNoBackendIsNamed) {
  std::vector<bool> seen(kNumEntries);
  for (int slot = 0; slot < kNumSlots; ++slot)
    seen[static_cast<size_t>(entry_of_slot(slot))] = true;
  for (const DispatchKey block : building_blocks()) {
    const auto entry = static_cast<size_t>(KeySet(block).entry());
    EXPECT_FALSE(seen[entry]);
    seen[entry] = true;
  }
  EXPECT_EQ(seen, std::vector<bool>(kNumEntries, true));
}

TEST(KeySet, PrintsInOrder) {
  EXPECT_EQ(to_string(KeySet()), "DispatchKeySet()");
  EXPECT_EQ(to_string(KeySet({AutogradCPU, CPU})), "DispatchKeySet(CPU, AutogradCPU)");
  EXPECT_EQ(to_string(KeySet(Backend::kCPU)), "DispatchKeySet()");
  for (const KeySet set : random_sets(50)) {
    std::string wanted;
    for (const DispatchKey key : listed(set)) {
      wanted += (wanted.empty() ? "" : ", ") + to_string(key);
    }
    EXPECT_EQ(to_string(set), "DispatchKeySet(" + wanted + ")");
  }
}

}  // namespace
}  // namespace opyard
