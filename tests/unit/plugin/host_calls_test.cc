#include "opyard/dispatch/dispatcher.h"
#include "tests/unit/plugin/host_fixture.h"

namespace opyard::plugin {
namespace {

int64_t twice(int64_t n) {
  OPYARD_CHECK(n >= 0, kOutOfRange, "negative");
  return 2 * n;
}

// Two operators of a plugin: `twice`, typed, and `shift`, with kernels of the C interface.
struct HostCalls : testing::HostFixture {
  const opyard_calls& calls = extension<opyard_calls>("opyard.calls");
  std::vector<Registration> registrations;

  HostCalls() {
    registrations.push_back(
        Dispatcher::global().register_block(BlockKind::kFragment, "host_calls", "", [](Library& m) {
          m.def("twice(int n) -> int", OPYARD_FN(twice));
          m.def("shift(Tensor x, int n) -> int");
        }));
  }
  void add_kernel(const char* key, opyard_boxed_fn function) {
    opyard_registration record{};
    record.struct_size = sizeof(record);
    record.kind = OPYARD_REGISTER_IMPL;
    record.text = text("shift");
    record.key = text(key);
    record.boxed = function;
    record.self = this;
    opyard_block block{};
    block.struct_size = sizeof(block);
    block.kind = OPYARD_BLOCK_IMPL;
    block.name_space = text("host_calls");
    block.registrations = &record;
    block.count = 1;
    registrations.push_back(Dispatcher::global().register_blocks(block, Origin{"outsider", 1}));
  }
  opyard_op find(std::string_view name) {
    opyard_op op = nullptr;
    EXPECT_EQ(calls.find(text(name), &op, &status), 0) << status.message;
    return op;
  }
  int64_t shift(int64_t n) {
    return Dispatcher::global().call<int64_t, const Tensor&, int64_t>(
        Dispatcher::global().get("host_calls::shift"), make_tensor({1}, ScalarType::kFloat32), n);
  }
};

TEST_F(HostCalls, AnOperatorIsFoundShownAndCalled) {
  const opyard_op op = find("host_calls::twice");
  opyard_value value{};
  ASSERT_EQ(calls.schema(op, &value, &status), 0);
  EXPECT_EQ(IValue::adopt(value).to_string_view(), "host_calls::twice(int n) -> int");
  const opyard_value in[] = {{OPYARD_INT, 0, 21}};
  opyard_value out[] = {{99, 99, 99}};
  ASSERT_EQ(calls.call(op, in, 1, out, 1, &status), 0) << status.message;
  EXPECT_EQ(out[0].tag, uint32_t{OPYARD_INT});
  EXPECT_EQ(out[0].payload, 42u);
}

TEST_F(HostCalls, WhatCannotBeCalledIsRefusedAndLeavesNothing) {
  opyard_op op = nullptr;
  EXPECT_EQ(calls.find(text("host_calls::twicy"), &op, &status),
            static_cast<int32_t>(Code::kNotFound));
  EXPECT_NE(status.message.find("host_calls::twice"), std::string::npos) << status.message;
  expect_refused(calls.find({nullptr, 5, 0}, &op, &status), "null pointer");
  expect_refused(calls.find(text(std::string(2000, 'x')), &op, &status), "the most");
  op = find("host_calls::twice");
  const opyard_value in[] = {{OPYARD_INT, 0, 21}, {OPYARD_INT, 0, 1}};
  opyard_value out[] = {{99, 99, 99}};
  expect_refused(calls.call(op, in, 2, out, 1, &status), "has 1 arguments, got 2");
  EXPECT_EQ(out[0].tag, uint32_t{OPYARD_NONE});
  expect_refused(calls.call(op, in, 1, out, 0, &status), "has 1 results, got 0");
  expect_refused(calls.call(op, nullptr, 1, out, 1, &status), "null pointer");
  expect_refused(calls.call(op, in, 1, nullptr, 1, &status), "null pointer");
  expect_refused(calls.call(nullptr, in, 1, out, 1, &status), "null pointer");
  const opyard_value odd[] = {{77, 0, 0}};
  expect_refused(calls.call(op, odd, 1, out, 1, &status), "tag 77");
  const opyard_value none[] = {{OPYARD_NONE, 0, 0}};
  expect_refused(calls.call(op, none, 1, out, 1, &status), "'n'");
  const opyard_value negative[] = {{OPYARD_INT, 0, ~uint64_t{0}}};
  EXPECT_EQ(calls.call(op, negative, 1, out, 1, nullptr), static_cast<int32_t>(Code::kOutOfRange));
}

// Adds one and passes on what lies below its own key; on the way it calls another operator.
int32_t pass_on(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                opyard_value* out, uint32_t n_out) {
  const opyard_calls& calls = static_cast<HostCalls*>(self)->calls;
  uint64_t keys = 0;
  int32_t code = calls.keys_below(call, {nullptr, 0, 0}, &keys, call->status);
  if (code) return code;
  const opyard_value more[] = {in[0], {OPYARD_INT, 0, in[1].payload + 1}};
  return calls.redispatch(call, keys, more, n_in, out, n_out, call->status);
}
int32_t double_it(void* self, opyard_call* call, const opyard_value* in, uint32_t,
                  opyard_value* out, uint32_t) {
  auto& test = *static_cast<HostCalls*>(self);
  opyard_op own = nullptr;
  EXPECT_EQ(test.calls.op_of(call, &own, call->status), 0);
  EXPECT_EQ(own, test.find("host_calls::shift"));
  return test.calls.call(test.find("host_calls::twice"), in + 1, 1, out, 1, call->status);
}

TEST_F(HostCalls, AKernelPassesItsCallOnAndCallsOthers) {
  add_kernel("AutogradCPU", &pass_on);
  add_kernel("CPU", &double_it);
  EXPECT_EQ(shift(20), 42);
  try {
    shift(-5);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {  // what the innermost operator said has come through
    EXPECT_EQ(error.code(), Code::kOutOfRange);
    EXPECT_NE(error.message().find("negative"), std::string::npos);
  }
}

int32_t ask_wrongly(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                    opyard_value* out, uint32_t n_out) {
  auto& test = *static_cast<HostCalls*>(self);
  uint64_t keys = 77;
  const auto below = [&](std::string_view key) {
    return test.calls.keys_below(call, test.text(key), &keys, &test.status);
  };
  test.expect_refused(below("Nowhere"), "could not parse");
  test.expect_refused(below("CompositeImplicitAutograd"), "nothing below");
  EXPECT_EQ(keys, 77u);
  EXPECT_EQ(below("AutogradCPU"), 0);
  EXPECT_NE(keys, 77u);
  test.expect_refused(test.calls.redispatch(call, keys, in, 1, out, n_out, &test.status), "got 1");
  opyard_call odd = *call;
  odd.struct_size = 8;
  test.expect_refused(test.calls.redispatch(&odd, keys, in, n_in, out, n_out, &test.status),
                      "struct_size is 8");
  odd = *call;
  odd.table = nullptr;
  test.expect_refused(test.calls.redispatch(&odd, keys, in, n_in, out, n_out, &test.status),
                      "no operator table");
  // Bits that no key has change nothing: nobody computes without keys.
  EXPECT_NE(test.calls.redispatch(call, 0, in, n_in, out, n_out, &test.status), 0);
  EXPECT_NE(test.calls.redispatch(call, uint64_t{1} << 63, in, n_in, out, n_out, &test.status), 0);
  test.status = {};
  test.expect_refused(test.calls.redispatch(nullptr, keys, in, n_in, out, n_out, &test.status),
                      "null pointer");
  out[0] = {OPYARD_INT, 0, 1};
  return 0;
}

TEST_F(HostCalls, APassOnOfNoCallIsRefused) {
  add_kernel("CPU", &ask_wrongly);
  EXPECT_EQ(shift(0), 1);
  const opyard_call call{sizeof(call), 0, 0, this, nullptr, 0};
  uint64_t keys = 0;
  EXPECT_EQ(calls.keys_below(&call, text("CPU"), &keys, &status),
            static_cast<int32_t>(Code::kFailedPrecondition));
}

}  // namespace
}  // namespace opyard::plugin
