#include "rpc/decode.h"

#include <gtest/gtest.h>

#include "opyard/runtime/limits.h"

namespace opyard::daemon {
namespace {

using runtime::kLimits;

std::string decoded(const v1::Value& value) { return describe(decode_operand(value).value); }

Code code_of_decode(const v1::Value& value) {
  try {
    decode_operand(value);
    return Code::kOk;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(DecodeValueTest, EveryKind) {
  v1::Value value;
  value.set_none(true);
  EXPECT_EQ(decoded(value), "None");
  value.set_bool_value(true);
  EXPECT_EQ(decoded(value), "bool True");
  value.set_int_value(-3);
  EXPECT_EQ(decoded(value), "int -3");
  value.set_double_value(2.5);
  EXPECT_EQ(decoded(value), "float 2.5");
  value.set_string_value("x");
  EXPECT_EQ(decoded(value), "str 'x'");
  value.set_dtype("int64");
  EXPECT_EQ(decode_operand(value).value.to_dtype(), ScalarType::kInt64);
  value.set_device("cpu");
  EXPECT_TRUE(decode_operand(value).value.to_device().is_cpu());
  value.set_layout("strided");
  EXPECT_EQ(decode_operand(value).value.to_layout(), Layout::kStrided);
  value.set_memory_format("preserve_format");
  EXPECT_EQ(decode_operand(value).value.to_memory_format(), MemoryFormat::kPreserve);
  value.mutable_ints()->add_items(4);
  EXPECT_EQ(decoded(value), "list of 1 int");
  value.mutable_doubles()->add_items(4);
  EXPECT_EQ(decoded(value), "list of 1 float");
  value.mutable_bools()->add_items(true);
  EXPECT_EQ(decoded(value), "list of 1 bool");
  value.mutable_complex_value()->set_imag(2);
  EXPECT_EQ(decode_operand(value).value.to_complex(), std::complex<double>(0, 2));
  value.mutable_list()->add_items()->set_string_value("a");
  EXPECT_EQ(decoded(value), "list of 1 values");
}

TEST(DecodeValueTest, References) {
  v1::Value value;
  value.set_id(7);
  EXPECT_EQ(decode_operand(value).kind, runtime::Operand::Kind::kId);
  value.mutable_ids()->add_items(7);
  value.mutable_ids()->add_items(0);
  EXPECT_EQ(decode_operand(value).ids, (std::vector<runtime::Id>{7, 0}));
  v1::Value mixed;
  mixed.mutable_list()->add_items()->set_id(7);
  EXPECT_EQ(code_of_decode(mixed), Code::kInvalidArgument);
}

TEST(DecodeValueTest, UnsetAndUnknownNames) {
  v1::Value value;
  EXPECT_EQ(code_of_decode(value), Code::kInvalidArgument);
  value.set_dtype("float33");
  EXPECT_EQ(code_of_decode(value), Code::kInvalidArgument);
  value.set_device("gpu:x");
  EXPECT_EQ(code_of_decode(value), Code::kInvalidArgument);
  value.set_layout("");
  EXPECT_EQ(code_of_decode(value), Code::kInvalidArgument);
  value.set_memory_format("diagonal");
  EXPECT_EQ(code_of_decode(value), Code::kInvalidArgument);
}

// A value of `levels` lists inside each other.
v1::Value nested(uint32_t levels) {
  v1::Value value;
  value.set_int_value(1);
  for (uint32_t i = 0; i < levels; ++i) {
    v1::Value outer;
    outer.mutable_list()->add_items()->Swap(&value);
    value.Swap(&outer);
  }
  return value;
}

TEST(DecodeValueTest, LimitsHoldToTheUnit) {
  EXPECT_EQ(code_of_decode(nested(kLimits.depth)), Code::kOk);
  EXPECT_EQ(code_of_decode(nested(kLimits.depth + 1)), Code::kInvalidArgument);
  v1::Value text;
  text.set_string_value(std::string(kLimits.string_bytes, 'x'));
  EXPECT_EQ(code_of_decode(text), Code::kOk);
  text.set_string_value(std::string(kLimits.string_bytes + 1, 'x'));
  EXPECT_EQ(code_of_decode(text), Code::kInvalidArgument);
  v1::Value list;
  for (uint32_t i = 0; i < kLimits.list_items; ++i) list.mutable_ints()->add_items(1);
  EXPECT_EQ(code_of_decode(list), Code::kOk);
  list.mutable_ints()->add_items(1);
  EXPECT_EQ(code_of_decode(list), Code::kInvalidArgument);
}

TEST(DecodeFrameTest, TooMuchOfAnythingIsRefused) {
  runtime::Frame frame;
  v1::OpFrame ops;
  for (uint32_t i = 0; i < kLimits.ops_per_frame; ++i) ops.add_ops();
  EXPECT_NO_THROW(decode_frame(ops, &frame));
  ops.add_ops();
  EXPECT_THROW(decode_frame(ops, &frame), Error);
  v1::OpFrame puts;
  for (uint32_t i = 0; i <= kLimits.ops_per_frame; ++i) puts.add_puts();
  EXPECT_THROW(decode_frame(puts, &frame), Error);
  v1::OpFrame fetches;
  for (uint32_t i = 0; i <= kLimits.ops_per_frame; ++i) fetches.add_fetch();
  EXPECT_THROW(decode_frame(fetches, &frame), Error);
  v1::OpFrame releases;
  for (uint32_t i = 0; i <= kLimits.list_items; ++i) releases.add_release(1);
  EXPECT_THROW(decode_frame(releases, &frame), Error);
}

TEST(DecodeFrameTest, ABrokenCallIsNotedAndTheRestIsRead) {
  v1::OpFrame message;
  message.add_ops()->add_args();  // a value without a kind
  message.mutable_ops(0)->set_seq(1);
  message.mutable_ops(0)->add_results(5);
  message.add_ops()->add_args()->set_int_value(2);
  message.mutable_ops(1)->set_want(v1::WANT_VALUE);
  message.add_fetch()->set_id(3);
  runtime::Frame frame;
  decode_frame(message, &frame);
  ASSERT_EQ(frame.ops.size(), 2u);
  ASSERT_TRUE(frame.ops[0].unreadable);
  EXPECT_EQ(frame.ops[0].unreadable->code(), Code::kInvalidArgument);
  EXPECT_EQ(frame.ops[0].results, (std::vector<runtime::Id>{5}));
  EXPECT_FALSE(frame.ops[1].unreadable);
  EXPECT_EQ(frame.ops[1].want, runtime::Want::kValue);
  ASSERT_EQ(frame.fetches.size(), 1u);
  EXPECT_EQ(frame.fetches[0].want, runtime::Want::kValue) << "a fetch without a wish";
}

}  // namespace
}  // namespace opyard::daemon
