#include "opyard/runtime/stream.h"

#include <gtest/gtest.h>

#include "opyard/base/error.h"
#include "opyard/runtime/limits.h"

namespace opyard::runtime {
namespace {

template <typename Work>
Code code_of(Work work) {
  try {
    work();
    return Code::kOk;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(StreamTest, NamesAreInternedInOrder) {
  Stream stream(1);
  EXPECT_EQ(stream.resolve_name("aten::mm", 0), "aten::mm");
  EXPECT_EQ(stream.resolve_name("aten::add.Tensor", 1), "aten::add.Tensor");
  EXPECT_EQ(stream.resolve_name("aten::mul.Tensor", 2), "aten::mul.Tensor");
  EXPECT_EQ(stream.resolve_name("", 1), "aten::add.Tensor");
  EXPECT_EQ(stream.resolve_name("aten::add.Tensor", 1), "aten::add.Tensor") << "said again";
  EXPECT_EQ(code_of([&] { stream.resolve_name("other", 1); }), Code::kAlreadyExists);
  EXPECT_EQ(code_of([&] { stream.resolve_name("", 3); }), Code::kNotFound);
  EXPECT_EQ(code_of([&] { stream.resolve_name("x", 4); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { stream.resolve_name("", 0); }), Code::kInvalidArgument);
}

TEST(StreamTest, TheTableOfNamesIsBounded) {
  Stream stream(1);
  for (uint32_t i = 1; i <= kLimits.interned_ops; ++i) stream.resolve_name("x", i);
  EXPECT_EQ(code_of([&] { stream.resolve_name("x", kLimits.interned_ops + 1); }),
            Code::kResourceExhausted);
  EXPECT_EQ(code_of([&] { stream.resolve_name("x", UINT32_MAX); }), Code::kResourceExhausted);
}

TEST(StreamTest, LongNamesAreRefusedAndCostNothing) {
  Stream stream(1);
  const std::string longest(kLimits.op_name_bytes, 'x');
  EXPECT_EQ(stream.resolve_name(longest, 1), longest);
  EXPECT_EQ(code_of([&] { stream.resolve_name(longest + "x", 2); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { stream.resolve_name(longest + "x", 0); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { stream.resolve_name("", 2); }), Code::kNotFound) << "not entered";
}

TEST(StreamTest, TheTableOfNamesIsPaidFor) {
  const auto budget = IntrusivePtr<SessionBudget>::adopt(
      new SessionBudget(std::make_shared<Ledger>(1 << 20), 2 * kNameBytes + 10));
  {
    Stream stream(1, budget);
    stream.resolve_name("a::bcd", 1);
    EXPECT_EQ(budget->used(), kNameBytes + 6);
    EXPECT_EQ(code_of([&] { stream.resolve_name("a::bcde", 2); }), Code::kResourceExhausted);
    EXPECT_EQ(stream.resolve_name("a::b", 2), "a::b") << "the place is still free";
  }
  EXPECT_EQ(budget->used(), 0u);
  Stream calls(0, budget);
  calls.resolve_name("a::b", 1);
  calls.forget_names();
  EXPECT_EQ(budget->used(), 0u);
}

TEST(StreamTest, SequenceNumbersGrowOnStreamsOnly) {
  Stream stream(1);
  stream.take_seq(3);
  EXPECT_EQ(code_of([&] { stream.take_seq(3); }), Code::kAlreadyExists);
  EXPECT_EQ(code_of([&] { stream.take_seq(2); }), Code::kAlreadyExists);
  stream.take_seq(10);
  EXPECT_EQ(stream.last_seq(), 10u);
  Stream calls(0);
  calls.take_seq(5);
  calls.take_seq(5);
  calls.take_seq(1);
  EXPECT_EQ(calls.last_seq(), 5u);
}

}  // namespace
}  // namespace opyard::runtime
