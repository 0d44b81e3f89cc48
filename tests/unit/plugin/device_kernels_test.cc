// What the host registers for a device: copies, fills, reads, and the CPU in place of what is
// missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "fake_device.h"
#include "opyard/base/log.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/ops.h"
#include "opyard/plugin/backend_claims.h"
#include "opyard/plugin/device_runtime.h"
#include "opyard/runtime/yard.h"
#include "tests/unit/plugin/errors.h"

namespace opyard::plugin {
namespace {

std::vector<std::string>& log_lines() {
  static std::vector<std::string> lines;
  return lines;
}

// One generation, published.
struct Generation {
  explicit Generation(std::string_view name, bool cpu_fallback = true,
                      const std::vector<Library>& own = {})
      : claim(name), runtime(&fake.table, &fake, claim.backend(), leases, std::string(name), 1) {
    std::vector<opyard_block> blocks;
    for (const Library& library : own) blocks.push_back(library.block());
    const std::vector<Library> more = runtime.libraries(blocks, cpu_fallback);
    for (const Library& library : more) blocks.push_back(library.block());
    registration = Dispatcher::global().register_blocks(blocks, Origin{std::string(name), 1});
    runtime.publish();
  }
  Device device(int16_t index = -1) const { return {claim.backend(), index}; }

  BackendClaim claim;
  FakeDevice fake;
  Leases leases;
  DeviceRuntime runtime;
  Registration registration;
};

class DeviceKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    static runtime::Yard yard;
    static const auto cpu = (yard.load_plugin("cpu"), true);
    (void)cpu;
    log_lines().clear();
    set_log_sink([](LogLevel, std::string_view line) { log_lines().emplace_back(line); });
  }
  void TearDown() override { set_log_sink(nullptr); }

  static Tensor to(const Tensor& tensor, Device device, bool non_blocking = false) {
    return ops::_to_copy(tensor, {}, {}, device, {}, non_blocking);
  }
  static Tensor floats(std::initializer_list<float> values) {
    Tensor tensor = make_tensor({static_cast<int64_t>(values.size())}, ScalarType::kFloat32);
    std::copy(values.begin(), values.end(), tensor.data<float>());
    return tensor;
  }
  static std::vector<float> values(const Tensor& tensor) {
    const Tensor host = ops::_to_copy(tensor, ScalarType::kFloat32, {}, Device(Backend::kCPU), {},
                                      false, MemoryFormat::kContiguous);
    return {host.data<float>(), host.data<float>() + host.numel()};
  }
  using Values = std::vector<float>;
};

TEST_F(DeviceKernels, CopiesGoThereAndBack) {
  const Generation toy("sham");
  const Tensor there = to(floats({1, 2, 3, 4, 5, 6}), toy.device());
  EXPECT_EQ(there.device(), toy.device());
  EXPECT_EQ(toy.leases.count(LeaseKind::kStorage), 1u);
  EXPECT_EQ(values(there), (Values{1, 2, 3, 4, 5, 6}));
  const Tensor matrix = ops::view(there, {2, 3});
  EXPECT_EQ(values(ops::t(matrix)), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values(ops::slice(there, 0, 1, 6, 2)), (Values{2, 4, 6}));
  EXPECT_EQ(values(ops::expand(ops::slice(there, 0, 2, 3), {2})), (Values{3, 3}));
  EXPECT_EQ(to(make_tensor({0, 3}, ScalarType::kInt64), toy.device()).numel(), 0);
  EXPECT_EQ(toy.fake.wild, 0u);
  EXPECT_EQ(toy.leases.count(LeaseKind::kStream), 0u);
}

// A thread's first pin may be that of an allocation, and the plugin calls operators in it.
TEST_F(DeviceKernels, AnAllocationMayCallOperators) {
  Generation toy("sham");
  int64_t seen = 0;
  toy.fake.before_alloc = [&] { seen = ops::add(floats({1, 2}), 1).numel(); };
  std::thread([&] { make_tensor({1}, ScalarType::kInt8, toy.device()); }).join();
  EXPECT_EQ(seen, 2);
}

TEST_F(DeviceKernels, CopiesConvertAndLayOut) {
  const Generation toy("sham");
  const Tensor source = floats({1.5f, 2.5f, -3.5f, 4.5f, 5.5f, 6.5f});
  const Tensor ints = ops::_to_copy(source, ScalarType::kInt32, {}, toy.device());
  EXPECT_EQ(ints.dtype(), ScalarType::kInt32);
  EXPECT_EQ(values(ints), (Values{1, 2, -3, 4, 5, 6}));
  // Into every second place of a device tensor; the others stay.
  const Tensor wide = to(floats({0, 10, 20, 30, 40, 50}), toy.device());
  Tensor odd = ops::slice(wide, 0, 1, 6, 2);
  ops::copy_(odd, ops::slice(source, 0, 0, 3));
  EXPECT_EQ(values(wide), (Values{0, 1.5f, 20, 2.5f, 40, -3.5f}));
  // Within the device: alike, converted, transposed, broadcast.
  Tensor target = ops::empty({2, 3}, TensorOptions{.device = toy.device()});
  ops::copy_(target, ops::view(wide, {2, 3}));
  EXPECT_EQ(values(target), (Values{0, 1.5f, 20, 2.5f, 40, -3.5f}));
  ops::copy_(target, ops::t(ops::view(to(source, toy.device()), {3, 2})));
  EXPECT_EQ(values(target), (Values{1.5f, -3.5f, 5.5f, 2.5f, 4.5f, 6.5f}));
  ops::copy_(target, ops::slice(to(source, toy.device()), 0, 3, 6));
  EXPECT_EQ(values(target), (Values{4.5f, 5.5f, 6.5f, 4.5f, 5.5f, 6.5f}));
  EXPECT_EQ(toy.fake.wild, 0u);
}

TEST_F(DeviceKernels, TwoDevicesSideBySide) {
  const Generation one("sham");
  const Generation two("sham2");
  EXPECT_NE(one.claim.backend(), two.claim.backend());
  const Tensor a = to(floats({1, 2}), one.device());
  const Tensor b = to(a, two.device());
  EXPECT_EQ(b.device(), two.device());
  EXPECT_EQ(values(b), (Values{1, 2}));
  EXPECT_EQ(values(to(b, one.device(1))), (Values{1, 2}));
  const Error mixed = error_of([&] { ops::add(a, b); });
  EXPECT_EQ(mixed.code(), Code::kInvalidArgument) << mixed.message();
  EXPECT_TRUE(says(mixed, "sham2")) << mixed.message();
  EXPECT_EQ(one.fake.wild + two.fake.wild, 0u);
}

TEST_F(DeviceKernels, ACopyMayBeDoneLaterAndHoldsALease) {
  Generation toy("sham");
  Tensor source = floats({1, 2, 3});
  const Tensor there = to(source, toy.device(), true);
  EXPECT_FALSE(toy.fake.queue.empty());
  EXPECT_EQ(toy.leases.count(LeaseKind::kEvent), 1u);
  source.data<float>()[0] = 100;  // what is copied is what was there at the call
  toy.runtime.settle();
  EXPECT_EQ(toy.leases.count(LeaseKind::kEvent), 0u);
  EXPECT_EQ(toy.fake.live_events, 0u);
  EXPECT_EQ(values(there), (Values{1, 2, 3}));
  for (int i = 0; i < 600; ++i) ops::copy_(source, to(source, toy.device(), true));
  for (int i = 0; i < 600; ++i) to(source, toy.device(), true);
  EXPECT_LE(toy.leases.count(LeaseKind::kEvent), 256u);
  // Nobody would wait for a generation that is going.
  toy.runtime.settle();
  toy.runtime.withdraw();
  Tensor last = there;
  ops::copy_(last, source, true);
  EXPECT_EQ(toy.leases.count(LeaseKind::kEvent), 0u);
}

TEST_F(DeviceKernels, FillsFactoriesAndNumbers) {
  const Generation toy("sham");
  const TensorOptions here{.device = toy.device()};
  EXPECT_EQ(values(ops::zeros({2}, here)), (Values{0, 0}));
  EXPECT_EQ(values(ops::full({2}, 7, here)), (Values{7, 7}));
  EXPECT_EQ(values(ops::arange(3, here)), (Values{0, 1, 2}));
  const Tensor random = ops::rand({100}, here);
  EXPECT_EQ(random.device().type, toy.claim.backend());
  for (const float number : values(random)) EXPECT_TRUE(number >= 0 && number < 1);
  EXPECT_EQ(std::signbit(values(ops::full({1}, -0.0, here))[0]), true);
  Tensor tensor = to(floats({1, 2, 3, 4}), toy.device());
  Tensor odd = ops::slice(tensor, 0, 1, 4, 2);
  ops::fill_(odd, 9);
  EXPECT_EQ(values(tensor), (Values{1, 9, 3, 9}));
  ops::zero_(tensor);
  EXPECT_EQ(values(tensor), (Values{0, 0, 0, 0}));
  EXPECT_EQ(ops::_local_scalar_dense(ops::slice(odd, 0, 1, 2)).to_double(), 0);
  EXPECT_EQ(toy.fake.wild, 0u);
}

TEST_F(DeviceKernels, MissingOperatorsAreComputedOnTheCpuAndCounted) {
  const Generation toy("sham");
  const Tensor a = to(floats({1, -2, 3}), toy.device());
  const Tensor b = to(floats({10, 20, 30}), toy.device());
  const Tensor sum = ops::add(a, b);
  EXPECT_EQ(sum.device().type, toy.claim.backend());
  EXPECT_EQ(values(sum), (Values{11, 18, 33}));
  EXPECT_EQ(values(ops::add(a, a)), (Values{2, -4, 6}));
  EXPECT_EQ(values(ops::mul(a, 2)), (Values{2, -4, 6}));
  EXPECT_EQ(values(ops::cat({a, b})), (Values{1, -2, 3, 10, 20, 30}));
  Tensor changed = to(floats({0, 0, 0}), toy.device());
  const uint32_t version = changed.version();
  EXPECT_TRUE(ops::add_(changed, b).is_same(changed));
  EXPECT_GT(changed.version(), version);
  EXPECT_EQ(values(changed), (Values{10, 20, 30}));
  Tensor out = ops::empty({0}, TensorOptions{.device = toy.device()});
  EXPECT_TRUE(ops::add_out(out, a, b).is_same(out));
  EXPECT_EQ(values(out), (Values{11, 18, 33}));
  const std::vector<FallbackCount> counts = toy.runtime.fallback_counts();
  const auto found = std::find_if(counts.begin(), counts.end(), [](const FallbackCount& count) {
    return count.op == "aten::add.Tensor";
  });
  ASSERT_NE(found, counts.end());
  EXPECT_EQ(found->calls, 2u);
  EXPECT_EQ(std::count_if(log_lines().begin(), log_lines().end(),
                          [](const std::string& line) {
                            return line.find("'aten::add.Tensor'") != std::string::npos;
                          }),
            1);
  EXPECT_EQ(toy.fake.wild, 0u);
}

// Lists, optional lists, several results, a device by name, and what the CPU cannot stand in for.
TEST_F(DeviceKernels, ArgumentsAndResultsOfAllKindsTakeTheDetour) {
  const Generation toy("sham");
  std::vector<Library> libraries;
  libraries.emplace_back(BlockKind::kDef, "detour", "")
      .def("pair(Tensor[] xs, Tensor?[] ys, Tensor? z) -> (Tensor, Tensor[])")
      .def("fill_all_(Tensor(a!)[] xs, float value) -> ()")
      .def("on(Tensor x, *, Device? device=None) -> Tensor")
      .def("window(Tensor(a) x) -> Tensor(a)");
  libraries.emplace_back(BlockKind::kImpl, "detour", "CPU")
      .impl("pair",
            [](TensorList xs, const std::vector<std::optional<Tensor>>& ys,
               const std::optional<Tensor>& z) {
              EXPECT_TRUE(xs[0].device().is_cpu() && ys[1]->device().is_cpu() && !ys[0] && !z);
              EXPECT_TRUE(xs[0].is_same(*ys[1]));  // given twice, copied once
              return std::make_tuple(xs[0], std::vector<Tensor>{xs[1], *ys[1]});
            })
      .impl("fill_all_",
            [](TensorList xs, double value) {
              for (Tensor x : xs) ops::fill_(x, value);
            })
      .impl("on", [](const Tensor& x, std::optional<Device>) { return ops::clone(x); })
      .impl("window", [](const Tensor& x) { return x; });
  const Registration registration =
      Dispatcher::global().register_libraries(libraries, Origin{"detour", 1});
  const Tensor a = to(floats({1}), toy.device(1));
  const Tensor b = to(floats({2}), toy.device(1));
  const auto call = [](std::string_view op, Stack stack) {
    const Dispatcher& dispatcher = Dispatcher::global();
    dispatcher.call_boxed(dispatcher.get(op), stack);
    return stack;
  };
  const Stack pair = call(
      "detour::pair", {std::vector<Tensor>{a, b}, IValue::list({IValue(), IValue(a)}), IValue()});
  EXPECT_EQ(pair[0].to_tensor().device(), toy.device(1));
  EXPECT_EQ(values(pair[1].to_tensor_list()[0]), Values{2});
  EXPECT_EQ(pair[1].to_tensor_list()[1].device(), toy.device(1));
  call("detour::fill_all_", {std::vector<Tensor>{a, b}, 5.0});
  EXPECT_EQ(values(a), Values{5});
  EXPECT_EQ(values(b), Values{5});
  EXPECT_EQ(call("detour::on", {a, toy.device(0)})[0].to_tensor().device(), toy.device(0));
  EXPECT_TRUE(call("detour::on", {a, Device(Backend::kCPU)})[0].to_tensor().device().is_cpu());
  EXPECT_EQ(call("detour::on", {a, IValue()})[0].to_tensor().device(), toy.device(1));
  const Error view = error_of([&] { call("detour::window", {a}); });
  EXPECT_EQ(view.code(), Code::kUnimplemented);
  EXPECT_TRUE(says(view, "shares memory")) << view.message();
  EXPECT_EQ(toy.fake.wild, 0u);
}

TEST_F(DeviceKernels, TheCpuRefusesWhatADeviceWould) {
  const Generation toy("sham");
  const Tensor a = to(floats({1, 2}), toy.device());
  const Error mixed = error_of([&] { ops::add(a, floats({1, 2})); });
  EXPECT_EQ(mixed.code(), Code::kInvalidArgument);
  EXPECT_TRUE(says(mixed, "'self' is on sham")) << mixed.message();
  EXPECT_EQ(error_of([&] {
              ops::add(a, to(floats({1, 2}), toy.device(1)));
            }).code(),
            Code::kInvalidArgument);
  Tensor wide = ops::expand(to(floats({1}), toy.device()), {2});
  EXPECT_EQ(error_of([&] { ops::add_(wide, a); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] {
              ops::add(a, to(floats({1, 2, 3}), toy.device()));
            }).code(),
            Code::kInvalidArgument);
}

TEST_F(DeviceKernels, WithoutTheOptionTheErrorNamesPluginAndOption) {
  const Generation toy("sham", false);
  const Tensor a = to(floats({1, 2}), toy.device());
  const Error error = error_of([&] { ops::add(a, a); });
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_TRUE(says(error, "aten::add.Tensor") && says(error, "plugin 'sham'") &&
              says(error, "cpu_fallback"))
      << error.message();
  EXPECT_TRUE(toy.runtime.fallback_counts().empty());
}

int plugin_copies = 0;
int plugin_fills = 0;

TEST_F(DeviceKernels, WhatThePluginHasItselfIsLeftToIt) {
  const BackendClaim claim("sham");  // so that the key can be parsed
  std::vector<Library> own;
  own.emplace_back(BlockKind::kImpl, "kernel", "sham")
      .impl("copy", [](const Tensor&, bool, Tensor&) { ++plugin_copies; })
      .impl("fill.Scalar", [](const Scalar&, Tensor&) { ++plugin_fills; });
  const Generation toy("sham", true, own);
  const Tensor a = to(floats({1, 2}), toy.device());
  EXPECT_EQ(values(a), (Values{1, 2}));
  EXPECT_EQ(plugin_copies, 0);
  ops::clone(a);
  EXPECT_EQ(plugin_copies, 1);
  ops::zeros({1}, TensorOptions{.device = toy.device()});
  EXPECT_EQ(plugin_fills, 1);
  EXPECT_TRUE(log_lines().empty()) << log_lines().front();
}

TEST_F(DeviceKernels, TensorsOfAGenerationThatFailedAreRefusedEverywhere) {
  auto toy = std::make_unique<Generation>("sham");
  const Device device = toy->device();
  Tensor a = to(floats({1, 2}), device);
  toy->runtime.fail_storages();
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { values(a); }, [&] { ops::add(a, a); }, [&] { ops::fill_(a, 1); },
           [&] { ops::clone(a); },
           [&] {
             ops::copy_(a, floats({3, 4}));
           },
           [&] { ops::_local_scalar_dense(ops::slice(a, 0, 0, 1)); }}) {
    const Error error = error_of(use);
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.message();
    EXPECT_TRUE(says(error, "generation 1 of the plugin 'sham'")) << error.message();
  }
  EXPECT_EQ(toy->leases.total(), 0u);
}

int64_t with_keys(Keys, const Tensor& x) { return x.numel(); }
int64_t without_keys(const Tensor& x) { return x.numel(); }

// Kernels that no wrapper stands before.
TEST_F(DeviceKernels, TypedKernelsOfAPluginAreNotGivenMemoryThatIsGone) {
  const BackendClaim claim("sham");  // so that the key can be parsed
  std::vector<Library> own;
  own.emplace_back(BlockKind::kFragment, "typed", "")
      .def("keys(Tensor x) -> int")
      .def("fn(Tensor x) -> int")
      .def("lists(Tensor[] xs, Tensor?[] ys, Tensor? z) -> int");
  own.emplace_back(BlockKind::kImpl, "typed", "sham")
      .impl("keys", OPYARD_FN(with_keys))
      .impl("fn", OPYARD_FN(without_keys))
      .impl("lists", [](TensorList xs, const std::vector<std::optional<Tensor>>&,
                        const std::optional<Tensor>&) { return static_cast<int64_t>(xs.size()); });
  auto toy = std::make_unique<Generation>("sham", true, own);
  const Tensor gone = to(floats({1, 2}), toy->device());
  const auto call = [](std::string_view op, Stack stack) {
    const Dispatcher& dispatcher = Dispatcher::global();
    dispatcher.call_boxed(dispatcher.get(op), stack);
    return stack.at(0).to_int();
  };
  const auto call_typed = [&](std::string_view op) {
    const Dispatcher& dispatcher = Dispatcher::global();
    return dispatcher.call<int64_t, const Tensor&>(dispatcher.get(op), gone);
  };
  EXPECT_EQ(call_typed("typed::keys"), 2);
  EXPECT_EQ(call_typed("typed::fn"), 2);
  EXPECT_EQ(call("typed::lists", {std::vector<Tensor>{gone}, IValue::list({}), IValue()}), 1);
  toy->runtime.fail_storages();
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { call_typed("typed::keys"); }, [&] { call_typed("typed::fn"); },
           [&] { call("typed::fn", {gone}); },
           [&] {
             call("typed::lists", {std::vector<Tensor>{gone}, IValue::list({}), IValue()});
           }}) {
    EXPECT_EQ(error_of(use).code(), Code::kFailedPrecondition);
  }
}

}  // namespace
}  // namespace opyard::plugin
