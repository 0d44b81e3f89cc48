#include <gtest/gtest.h>

#include <set>

#include "opyard/base/error.h"
#include "opyard/core/dispatch_key_set.h"

namespace opyard {
namespace {

using enum DispatchKey;

TEST(DispatchKey, CountsAreThoseOfTheReference) {
  EXPECT_EQ(kNumBackends, 16);
  EXPECT_EQ(kNumFunctionalities, 48);
  EXPECT_EQ(kNumSlots, 138);
  EXPECT_EQ(slot_of(PythonDispatcher), 137);
  EXPECT_EQ(slot_of(AutogradCPU), 97);
  EXPECT_EQ(slot_of(QuantizedMeta), 35);
}

TEST(DispatchKey, SlotsAndKeysAgree) {
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const DispatchKey key = key_of_slot(slot);
    EXPECT_EQ(slot_of(key), slot);
    EXPECT_EQ(KeySet(key).slot(), slot) << to_string(key);
    EXPECT_EQ(parse_dispatch_key(to_string(key)), key);
  }
}

TEST(DispatchKey, SynonymsAndErrors) {
  EXPECT_EQ(parse_dispatch_key("CatchAll"), CompositeImplicitAutograd);
  EXPECT_EQ(parse_dispatch_key("DefaultBackend"), CompositeExplicitAutograd);
  EXPECT_EQ(parse_dispatch_key("Autocast"), AutocastCUDA);
  EXPECT_THROW(parse_dispatch_key("NoSuchKey"), Error);
  EXPECT_THROW(slot_of(Dense), Error);
  EXPECT_THROW(slot_of(Autograd), Error);
}

TEST(DispatchKey, PrivateBackendsHaveNames) {
  set_private_backend_name(Backend::kPrivateUse2, "my_device");
  EXPECT_EQ(to_string(AutogradPrivateUse2), "AutogradMyDevice");
  EXPECT_EQ(to_string(PrivateUse2), "my_device");
  EXPECT_EQ(parse_dispatch_key("SparseMyDevice"), SparsePrivateUse2);
  EXPECT_EQ(parse_dispatch_key("PrivateUse2"), PrivateUse2);
  EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse1, "my_device"), Error);
  EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse1, "CPU"), Error);
  EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse1, "cuda"), Error);
  EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse1, "myDevice"), Error);
  EXPECT_THROW(set_private_backend_name(Backend::kCUDA, "x"), Error);
  set_private_backend_name(Backend::kPrivateUse2, "");
  EXPECT_EQ(to_string(PrivateUse2), "PrivateUse2");
}

TEST(KeySet, IsACrossProduct) {
  EXPECT_EQ(KeySet({CPU, AutogradCUDA}), KeySet({CUDA, AutogradCPU}));
  const std::vector<DispatchKey> wanted = {CPU, CUDA, AutogradCPU, AutogradCUDA};
  EXPECT_EQ(KeySet({CPU, AutogradCUDA}).keys(), wanted);
}

TEST(KeySet, RemovalKeepsBackends) {
  EXPECT_EQ(KeySet({CPU, AutogradCUDA}).remove(AutogradCUDA), KeySet({CPU, CUDA}));
  EXPECT_EQ(KeySet(CPU).remove(CPU), KeySet(Backend::kCPU));
  EXPECT_TRUE(KeySet(CPU).remove(CPU).remove_backend(Backend::kCPU).empty());
}

TEST(KeySet, DegenerateSetsGoToUndefined) {
  EXPECT_EQ(KeySet().slot(), 0);
  EXPECT_EQ(KeySet(Backend::kCUDA).slot(), 0);
  EXPECT_EQ(KeySet(Sparse).slot(), 0);
  EXPECT_EQ(KeySet(AutogradFunctionality).highest_priority(), Undefined);
}

TEST(KeySet, Priorities) {
  EXPECT_EQ(KeySet({CPU, CUDA}).highest_priority(), CUDA);
  EXPECT_EQ(KeySet({CPU, Meta, PrivateUse3}).highest_priority(), Meta);
  EXPECT_EQ(KeySet({AutogradCPU, CPU}).highest_priority_backend_key(), CPU);
  EXPECT_EQ(KeySet({Functionalize, SparseCUDA}).highest_priority_backend_key(), SparseCUDA);
}

TEST(KeySet, BelowKeepsPythonDispatcherAlone) {
  const KeySet below = KeySet::below(AutogradCPU);
  EXPECT_FALSE(below.has(AutogradCPU));
  EXPECT_TRUE(below.has(ADInplaceOrView));
  EXPECT_TRUE(below.has(CPU));
  EXPECT_TRUE(below.has(PythonDispatcher));
  EXPECT_FALSE(KeySet::below(PythonDispatcher).has(PythonDispatcher));
}

TEST(KeySet, FullIteratesEverySlotButUndefined) {
  EXPECT_EQ(static_cast<int>(KeySet::full().keys().size()), kNumSlots - 1);
}

TEST(KeySet, PrintsInOrder) {
  EXPECT_EQ(to_string(KeySet()), "DispatchKeySet()");
  EXPECT_EQ(to_string(KeySet({AutogradCPU, CPU})), "DispatchKeySet(CPU, AutogradCPU)");
}

TEST(AliasKeys, HaveTheMembersOfTheReference) {
  const auto members = [](DispatchKey alias) {
    const auto list = expand_alias(alias);
    return std::set<DispatchKey>(list.begin(), list.end());
  };
  EXPECT_EQ(members(Autograd).size(), 18u);
  EXPECT_EQ(members(CompositeExplicitAutograd).size(), 4u * 16 + 5);
  EXPECT_EQ(members(CompositeExplicitAutogradNonFunctional).size(), 3u * 14 + 5);
  EXPECT_EQ(members(CompositeImplicitAutograd).size(), 4u * 16 + 5 + 18 + 16 + 1);
  EXPECT_EQ(members(CompositeImplicitAutogradNestedTensor).size(), 17u);
  EXPECT_EQ(members(FuncTorchBatchedDecomposition), std::set<DispatchKey>{FuncTorchBatched});
  EXPECT_FALSE(alias_contains(CompositeExplicitAutograd, NestedTensorCPU));
  EXPECT_FALSE(alias_contains(CompositeExplicitAutogradNonFunctional, SparseCPU));
  EXPECT_TRUE(alias_contains(CompositeExplicitAutogradNonFunctional, SparseCsrCPU));
}

}  // namespace
}  // namespace opyard
