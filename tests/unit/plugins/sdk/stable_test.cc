#include <gtest/gtest.h>

#include <thread>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/host_table.h"
#include "opyard/yard.h"
#include "tests/unit/dispatch/support.h"
#include "tests/unit/plugins/sdk/own_note.h"

namespace opyard {
namespace {

using testing::contains;
using testing::error_of;

// The life of the plugin in stable_plugin.cc, with this test as its host.
struct Stable : ::testing::Test {
  plugin::Leases leases;
  plugin::HostTable table{"stable_test", leases};
  plugin::StatusRoom status;
  opyard_plugin_handshake answer{};
  void* instance = nullptr;
  Registration registration;
  Dispatcher& dispatcher = Dispatcher::global();

  Stable() {
    const opyard_host_handshake host{
        sizeof(host), 0, OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION + 7, {"another build", 13, 0}};
    answer.struct_size = sizeof(answer);
    EXPECT_EQ(opyard_plugin_entry(&host, &answer), 0);
    EXPECT_EQ(answer.table->init(&table.table(), &instance, status.get()), 0);
    const auto* kernels = static_cast<const opyard_kernels_ext*>(
        answer.table->get_extension(instance, {"opyard.kernels", 14, 0}, 1));
    const opyard_block* blocks = nullptr;
    uint64_t count = 0;
    EXPECT_EQ(kernels->blocks(instance, &blocks, &count, status.get()), 0);
    registration =
        dispatcher.register_blocks(ArrayRef<opyard_block>(blocks, count), Origin{"stable_test", 1});
  }
  ~Stable() override {
    registration.reset();
    dispatcher.synchronize();
    answer.table->fini(instance);
    EXPECT_EQ(leases.total(), 0u);
  }
  Stack call(const std::string& op, Stack stack) {
    dispatcher.call_boxed(dispatcher.get("stable_test::" + op), stack);
    return stack;
  }
  std::string refusal(const std::string& op, Stack stack, Code code) {
    return error_of([&] { call(op, std::move(stack)); }, code);
  }
};

Tensor floats(std::initializer_list<float> values) {
  const Tensor made = make_tensor({static_cast<int64_t>(values.size())}, ScalarType::kFloat32);
  std::copy(values.begin(), values.end(), made.data<float>());
  return made;
}

TEST_F(Stable, ItsKernelsAreCalledBoxedAndTyped) {
  const Tensor x = floats({1, 2});
  const Stack results = call("scale", {x, 2.5});
  EXPECT_EQ(results[0].to_tensor().data<float>()[1], 5.0f);
  EXPECT_EQ(results[0].to_tensor().unsafe_impl()->use_count(), 1u);
  EXPECT_EQ(x.unsafe_impl()->use_count(), 1u);
  const Tensor typed =
      dispatcher.call<Tensor, const Tensor&, double>(dispatcher.get("stable_test::scale"), x, 3.0);
  EXPECT_EQ(typed.data<float>()[0], 3.0f);
  EXPECT_TRUE(dispatcher.get("stable_test::scale").attributes().has_tag("pointwise"));
}

// The matrix {{1, 2, 3}, {4, 5, 6}}, of which a row is in a row and a column is not.
TEST_F(Stable, AViewIsPutInARowWhereItIsNot) {
  YardOptions options;
  options.plugin_dirs = {PLUGIN_DIR};
  Yard yard(options);
  yard.load_plugin("cpu");  // whose kernel copies for aten::clone
  const Tensor x = floats({1, 2, 3, 4, 5, 6});
  const Tensor column = call("scale", {view_of(x, {2}, {3}, 1), 2.0})[0].to_tensor();
  EXPECT_EQ(column.data<float>()[0], 4.0f);
  EXPECT_EQ(column.data<float>()[1], 10.0f);
  const Tensor turned = call("scale", {view_of(x, {3, 2}, {1, 3}, 0), 2.0})[0].to_tensor();
  EXPECT_EQ(turned.data<float>()[1], 8.0f);
  EXPECT_EQ(turned.data<float>()[4], 6.0f);
  EXPECT_TRUE(call("contiguous", {x})[0].to_tensor().is_same(x));
  const Tensor row = view_of(x, {3}, {1}, 3);
  EXPECT_TRUE(call("contiguous", {row})[0].to_tensor().is_same(row));
  const Tensor copy = call("contiguous", {view_of(x, {2}, {3}, 2)})[0].to_tensor();
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(copy.data<float>()[1], 6.0f);
  EXPECT_EQ(copy.unsafe_impl()->use_count(), 1u);
  EXPECT_EQ(x.unsafe_impl()->use_count(), 1u);
  EXPECT_EQ(to_string(dispatcher.get("stable_test::contiguous").schema()),
            "stable_test::contiguous(Tensor _0) -> (Tensor)");
}

TEST_F(Stable, AnArgumentIsWrittenToAndGivenBack) {
  const Tensor x = floats({1, 2});
  const Stack results = call("fill", {x, 7});
  EXPECT_TRUE(results[0].to_tensor().is_same(x));
  EXPECT_EQ(x.data<float>()[0], 7.0f);
}

TEST_F(Stable, AllKindsOfArgumentsArrive) {
  const std::vector<int64_t> ints = {4, 12};
  const double doubles[] = {-1, 1};
  const bool bools[] = {true, false};
  const IValue tensors = IValue::list(std::vector<IValue>{floats({1}), std::nullopt});
  EXPECT_EQ(call("describe", {ints, ArrayRef<double>(doubles, 2), ArrayRef<bool>(bools, 2), tensors,
                              "hello", 1.5, ScalarType::kFloat64, Device(Backend::kCPU), true})[0]
                .to_string_view(),
            "4 12 - + yes no tensor none hello float float64 cpu on");
  EXPECT_EQ(
      call("describe", {std::vector<int64_t>{}, IValue::list({}), IValue::list({}),
                        std::vector<Tensor>{floats({1})}, std::nullopt, std::complex<double>(0, 1),
                        ScalarType::kInt8, Device(Backend::kCUDA, 1), false})[0]
          .to_string_view(),
      "tensor silent complex other elsewhere off");
}

TEST_F(Stable, AllKindsOfResultsArriveAndTheSchemaIsDeduced) {
  EXPECT_EQ(to_string(dispatcher.get("stable_test::parts").schema()),
            "stable_test::parts(Tensor[] _0) -> (Tensor[], int[], float?, Scalar)");
  const std::vector<Tensor> tensors = {floats({1}), floats({2})};
  const Stack results = call("parts", {tensors});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_TRUE(results[0].to_tensor_list()[0].is_same(tensors[1]));
  EXPECT_EQ(results[1].to_int_list()[0], 2);
  EXPECT_TRUE(results[2].is_none());
  EXPECT_EQ(results[3].to_complex(), std::complex<double>(1, 2));
  EXPECT_EQ(to_string(dispatcher.get("stable_test::scale_by_call").schema()),
            "stable_test::scale_by_call(Tensor _0) -> (Tensor)");
}

TEST_F(Stable, NoExceptionLeavesAndEachKeepsItsReason) {
  EXPECT_TRUE(contains(refusal("fail", {1}, Code::kOutOfRange), "our own error"));
  EXPECT_TRUE(contains(refusal("fail", {2}, Code::kInternal), "a standard error"));
  EXPECT_TRUE(contains(refusal("fail", {3}, Code::kResourceExhausted), "memory"));
  EXPECT_TRUE(contains(refusal("fail", {4}, Code::kInternal), "unknown kind"));
  EXPECT_TRUE(contains(refusal("fail", {5}, Code::kInvalidArgument), "negative"));
  EXPECT_TRUE(contains(refusal("fail", {6}, Code::kNotFound), "stable_test::nothing"));
  EXPECT_TRUE(contains(refusal("fail", {7}, Code::kInvalidArgument), "complex number"));
  EXPECT_TRUE(call("fail", {0}).empty());
}

TEST_F(Stable, ArgumentsOfAnotherTypeAreNamed) {
  const std::string message = refusal("scale", {floats({1}), "no"}, Code::kInvalidArgument);
  EXPECT_TRUE(contains(message, "argument 1: got a str where float is wanted")) << message;
  EXPECT_TRUE(
      contains(refusal("scale", {make_tensor({1}, ScalarType::kInt8), 1.0}, Code::kInvalidArgument),
               "another dtype"));
  EXPECT_TRUE(contains(refusal("parts", {std::vector<int64_t>{1}}, Code::kInvalidArgument),
                       "a list of Tensor"));
}

TEST_F(Stable, KernelsPassCallsOnAndCallOthers) {
  EXPECT_EQ((dispatcher.call<int64_t, const Tensor&, int64_t>(dispatcher.get("stable_test::shift"),
                                                              floats({1, 2, 3}), 10)),
            23);
  EXPECT_EQ(call("scale_by_call", {floats({2})})[0].to_tensor().data<float>()[0], 6.0f);
}

TEST_F(Stable, MemoryOfThePluginHoldsALease) {
  const int64_t before = call("times_freed", {})[0].to_int();
  {
    const Stack made = call("on_own_memory", {4});
    EXPECT_EQ(made[0].to_tensor().data<float>()[3], 4.0f);
    EXPECT_EQ(leases.count(plugin::LeaseKind::kStorage), 1u);
  }
  EXPECT_EQ(leases.total(), 0u);
  EXPECT_EQ(call("times_freed", {})[0].to_int(), before + 1);
  refusal("on_own_memory", {5}, Code::kInvalidArgument);  // there is no room for five
  EXPECT_EQ(call("times_freed", {})[0].to_int(), before + 1) << "it stays the plugin's";
  EXPECT_EQ(leases.total(), 0u);
}

TEST_F(Stable, LeasesAreHeldAsLongAsTheirObjects) {
  call("keep", {true});
  EXPECT_EQ(leases.count(plugin::LeaseKind::kEvent), 1u);
  call("keep", {true});
  EXPECT_EQ(leases.total(), 1u);
  call("keep", {false});
  EXPECT_EQ(leases.total(), 0u);
}

TEST_F(Stable, WorkRunsOnThreadsOfTheHostUntilItIsToStop) {
  const int64_t before = call("work_done", {})[0].to_int();
  EXPECT_EQ(call("work", {5})[0].to_int(), 0);
  while (leases.total() != 0) std::this_thread::yield();
  EXPECT_EQ(call("work_done", {})[0].to_int(), before + 5);
  table.request_stop();
  EXPECT_TRUE(contains(refusal("work", {1}, Code::kFailedPrecondition), "coming to its end"));
}

TEST_F(Stable, HooksRunAndTheNoteSaysWhatTheHandshakeSays) {
  EXPECT_EQ(answer.table->quiesce(instance, 7, status.get()), 0);
  const int32_t code = answer.table->drain(instance, 7, status.get());
  EXPECT_EQ(code, static_cast<int32_t>(Code::kDeadlineExceeded));
  EXPECT_TRUE(contains(status.error(code, "drain").message(), "a queue is not empty"));
  const std::string trace(call("hooks", {})[0].to_string_view());
  EXPECT_TRUE(trace.ends_with("sq")) << trace;
  const std::optional<opyard_note> note = testing::own_note();
  ASSERT_TRUE(note);
  EXPECT_STREQ(note->name, "stable_test");
  EXPECT_STREQ(note->version, "1.2.3");
  EXPECT_STREQ(note->fingerprint, "");
  EXPECT_STREQ(note->needs, "opyard.tensors/1,opyard.calls/1");
  EXPECT_EQ(std::string_view(answer.name.data, answer.name.size), note->name);
  EXPECT_EQ(std::string_view(answer.version.data, answer.version.size), note->version);
  EXPECT_EQ(answer.abi, OPYARD_ABI_VERSION);
}

TEST(StableAlone, AHostWithoutItsExtensionsIsRefused) {
  static std::string message;
  opyard_host host{};
  host.struct_size = sizeof(host);
  host.set_status = [](opyard_status*, int32_t, opyard_str text) {
    message.assign(text.data, text.size);
  };
  host.get_extension = [](const opyard_host*, opyard_str, uint32_t) -> const void* {
    return nullptr;
  };
  const opyard_host_handshake in{sizeof(in), 0, OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION, {}};
  opyard_plugin_handshake out{};
  out.struct_size = sizeof(out);
  ASSERT_EQ(opyard_plugin_entry(&in, &out), 0);
  void* instance = nullptr;
  plugin::StatusRoom status;
  EXPECT_EQ(out.table->init(&host, &instance, status.get()),
            static_cast<int32_t>(Code::kFailedPrecondition));
  EXPECT_TRUE(contains(message, "opyard.tensors"));
  EXPECT_EQ(instance, nullptr);
  EXPECT_EQ(out.table->init(nullptr, &instance, nullptr),
            static_cast<int32_t>(Code::kInvalidArgument));
  opyard_host_handshake odd = in;
  odd.abi_min = OPYARD_ABI_VERSION + 1;
  odd.abi_max = OPYARD_ABI_VERSION + 1;
  EXPECT_EQ(opyard_plugin_entry(&odd, &out), static_cast<int32_t>(Code::kFailedPrecondition));
  EXPECT_TRUE(contains(std::string(out.message.data, out.message.size), "another version"));
}

}  // namespace
}  // namespace opyard
