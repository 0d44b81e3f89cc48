#include "opyard/core/local_keys.h"

#include <gtest/gtest.h>

#include <thread>

namespace opyard {
namespace {

using enum DispatchKey;

TEST(LocalKeys, StartWithTheDefaults) {
  EXPECT_EQ(included_keys(), KeySet({BackendSelect, ADInplaceOrView}));
  EXPECT_TRUE(excluded_keys().has(AutocastCPU));
  EXPECT_FALSE(excluded_keys().has(AutogradOther));
}

TEST(LocalKeys, GuardsUndoJustWhatTheyAdded) {
  const IncludeKeysGuard outer(KeySet{Tracer});
  {
    const IncludeKeysGuard inner(KeySet({Tracer, Meta}));
    EXPECT_TRUE(included_keys().has(Meta));
  }
  EXPECT_TRUE(included_keys().has(Tracer));
  EXPECT_FALSE(included_keys().has_backend(Backend::kMeta));
}

TEST(LocalKeys, ExclusionHoldsFunctionalityOnly) {
  const ExcludeKeysGuard guard(KeySet{CPU});
  EXPECT_TRUE(excluded_keys().has(Dense));
  EXPECT_FALSE(excluded_keys().has_backend(Backend::kCPU));
}

TEST(LocalKeys, BelowAutogradExcludesEveryAutogradKey) {
  const BelowAutogradGuard guard;
  for (const DispatchKey key : {AutogradOther, AutogradNestedTensor, AutogradFunctionality}) {
    EXPECT_TRUE(excluded_keys().has(key));
  }
}

TEST(LocalKeys, SnapshotsTravelToOtherThreads) {
  const IncludeKeysGuard guard(KeySet{Tracer});
  const ThreadStateSnapshot snapshot = ThreadStateSnapshot::take();
  std::thread([&] {
    EXPECT_FALSE(included_keys().has(Tracer));
    {
      const ThreadStateGuard installed(snapshot);
      EXPECT_TRUE(included_keys().has(Tracer));
    }
    EXPECT_FALSE(included_keys().has(Tracer));
  }).join();
}

}  // namespace
}  // namespace opyard
