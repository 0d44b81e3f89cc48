#include <gtest/gtest.h>

#include "opyard/core/local_keys.h"
#include "opyard/dispatch/dispatcher.h"

// Compiled with a list of keys that has one line more: F(Probe, kGroupNone), before Tracer.

namespace opyard {
namespace {

using enum DispatchKey;

TEST(AddedKey, TakesTheNextPlaceAndThe64thBit) {
  EXPECT_EQ(kNumFunctionalities, 49);
  EXPECT_EQ(kNumSlots, 139);
  EXPECT_EQ(parse_dispatch_key("Probe"), Probe);
  EXPECT_EQ(to_string(Probe), "Probe");
  EXPECT_EQ(slot_of(Probe), slot_of(AutogradNestedTensor) + 1);
  EXPECT_EQ(slot_of(Tracer), slot_of(Probe) + 1);
  EXPECT_EQ(slot_of(PythonDispatcher), 138);
  EXPECT_EQ(KeySet(PythonDispatcher).bits(), uint64_t{1} << 63);
  EXPECT_EQ(KeySet::full().bits(), ~uint64_t{0});
  EXPECT_EQ(KeySet::full().keys().size(), 138u);
  for (int slot = 0; slot < kNumSlots; ++slot) {
    EXPECT_EQ(slot_of(key_of_slot(slot)), slot);
    EXPECT_EQ(KeySet(key_of_slot(slot)).slot(), slot);
    EXPECT_EQ(KeySet(key_of_slot(slot)).entry(), entry_of_slot(slot));
  }
  EXPECT_TRUE(KeySet::below(Tracer).has(Probe));
  EXPECT_FALSE(KeySet::below(AutogradNestedTensor).has(Probe));
  EXPECT_EQ(KeySet::below(PythonDispatcher), KeySet(~uint64_t{0} >> 1));
  EXPECT_EQ(to_string(KeySet({Tracer, Probe, CPU})), "DispatchKeySet(CPU, Probe, Tracer)");
}

TEST(AddedKey, IsInNoGroup) {
  for (const DispatchKey alias : {Autograd, CompositeImplicitAutograd, CompositeExplicitAutograd}) {
    EXPECT_FALSE(alias_contains(alias, Probe));
  }
  EXPECT_FALSE(kDefaultIncluded.has(Probe));
  EXPECT_FALSE(kDefaultExcluded.has(Probe));
}

std::vector<std::string> trail;

void go_on(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
           uint32_t n_out) {
  trail.push_back(kernel.debug);
  const Keys next = keys.below(keys.set.highest_functionality());
  const Kernel& target = next.table->kernel(next.set);
  target.boxed(target, next, in, n_in, out, n_out);
}

TEST(AddedKey, DispatchesBetweenItsNeighbours) {
  Dispatcher dispatcher;
  std::vector<Registration> registrations;
  registrations.push_back(dispatcher.register_block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> Tensor");
    m.impl("f", CPU, [](const Tensor& x) {
      trail.push_back("CPU");
      return x;
    });
  }));
  for (const std::string key : {"Probe", "Tracer", "AutogradCPU"}) {
    registrations.push_back(dispatcher.register_block(BlockKind::kImpl, "t", key, [&](Library& m) {
      m.impl("f", BoxedKernel{&go_on}).label(key);
    }));
  }
  const OperatorHandle op = dispatcher.get("t::f");
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  const IncludeKeysGuard guard(KeySet({Probe, Tracer}));
  dispatcher.call<Tensor, const Tensor&>(op, x);
  EXPECT_EQ(trail, (std::vector<std::string>{"Tracer", "Probe", "AutogradCPU", "CPU"}));
  EXPECT_EQ(dispatcher.table(op).size(), 139u);
  dispatcher.check_invariants();
}

}  // namespace
}  // namespace opyard
