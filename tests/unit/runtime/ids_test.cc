#include "opyard/runtime/ids.h"

#include <gtest/gtest.h>

#include "opyard/base/error.h"

namespace opyard::runtime {
namespace {

Code code_of_take(IdGate& gate, Id id) {
  try {
    gate.take(id);
    return Code::kOk;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(IdGateTest, OrderedStreamsTakeGrowingIdsOnly) {
  IdGate gate(7, false);
  EXPECT_EQ(code_of_take(gate, make_id(7, 1)), Code::kOk);
  EXPECT_EQ(code_of_take(gate, make_id(7, 5)), Code::kOk);
  EXPECT_EQ(code_of_take(gate, make_id(7, 5)), Code::kAlreadyExists);
  EXPECT_EQ(code_of_take(gate, make_id(7, 4)), Code::kAlreadyExists);
  EXPECT_EQ(code_of_take(gate, make_id(7, 6)), Code::kOk);
}

TEST(IdGateTest, OtherStreamsAndZeroAreRefused) {
  IdGate gate(7, false);
  EXPECT_EQ(code_of_take(gate, make_id(8, 1)), Code::kInvalidArgument);
  EXPECT_EQ(code_of_take(gate, 1), Code::kInvalidArgument);
  EXPECT_EQ(code_of_take(gate, make_id(7, 0)), Code::kInvalidArgument);
}

TEST(IdGateTest, UnaryCallsMayOvertakeWithinTheWindow) {
  IdGate gate(0, true);
  EXPECT_EQ(code_of_take(gate, 2000), Code::kOk);
  EXPECT_EQ(code_of_take(gate, 2000 - kLimits.reorder_window), Code::kAlreadyExists);
  EXPECT_EQ(code_of_take(gate, 2001 - kLimits.reorder_window), Code::kOk);
  EXPECT_EQ(code_of_take(gate, 2001 - kLimits.reorder_window), Code::kAlreadyExists);
  EXPECT_EQ(code_of_take(gate, 1999), Code::kOk);
  EXPECT_EQ(code_of_take(gate, 2001), Code::kOk);
  EXPECT_EQ(code_of_take(gate, 1999), Code::kAlreadyExists);
  EXPECT_EQ(code_of_take(gate, (uint64_t{1} << 48) - 1), Code::kOk);
  EXPECT_EQ(code_of_take(gate, 2002), Code::kAlreadyExists);
}

}  // namespace
}  // namespace opyard::runtime
