#include "tests/plugins/torture/history.h"

#include <gtest/gtest.h>

namespace opyard::torture {
namespace {

using Verdict = History::Verdict;

// Three stays: builds 1, 2, 1; and the times between the changes.
struct HistoryTest : ::testing::Test {
  HistoryTest() {
    times[0] = now_ns();
    change_to(1);
    times[1] = now_ns();
    change_to(2);
    times[2] = now_ns();
    change_to(1);
    times[3] = now_ns();
  }
  void change_to(uint64_t build) {
    history.begin_change();
    history.end_change(build);
  }
  Verdict judge(uint64_t build, size_t from, size_t to, uint64_t* ordinal) {
    return history.judge({build, times[from], times[to]}, ordinal);
  }
  Verdict judge(uint64_t build, size_t from, size_t to) {
    uint64_t ordinal = 0;
    return judge(build, from, to, &ordinal);
  }

  History history;
  uint64_t times[4];
};

TEST_F(HistoryTest, ABuildIsRightWhileItIsActive) {
  EXPECT_EQ(judge(1, 1, 1), Verdict::kRight);
  EXPECT_EQ(judge(2, 2, 2), Verdict::kRight);
  EXPECT_EQ(judge(1, 3, 3), Verdict::kRight);
  EXPECT_EQ(judge(2, 1, 3), Verdict::kRight);
  EXPECT_EQ(judge(0, 0, 0), Verdict::kRight);
}

TEST_F(HistoryTest, ABuildIsWrongWhileItIsNot) {
  EXPECT_EQ(judge(2, 1, 1), Verdict::kWrong);
  EXPECT_EQ(judge(1, 2, 2), Verdict::kWrong);
  EXPECT_EQ(judge(2, 3, 3), Verdict::kWrong);
  EXPECT_EQ(judge(0, 1, 3), Verdict::kWrong);
  EXPECT_EQ(judge(7, 0, 3), Verdict::kWrong);
}

TEST_F(HistoryTest, NobodySeesAnEarlierStayAgain) {
  uint64_t ordinal = 0;
  EXPECT_EQ(judge(2, 1, 3, &ordinal), Verdict::kRight);
  EXPECT_EQ(judge(1, 1, 2, &ordinal), Verdict::kWrong);
  EXPECT_EQ(judge(1, 1, 3, &ordinal), Verdict::kRight);
  EXPECT_EQ(judge(2, 1, 3, &ordinal), Verdict::kWrong);
}

TEST_F(HistoryTest, WhatAChangeMayBringIsUndecidedUntilItEnds) {
  history.begin_change();
  times[0] = now_ns();
  EXPECT_EQ(judge(3, 0, 0), Verdict::kUndecided);
  EXPECT_EQ(judge(3, 3, 3), Verdict::kWrong);
  EXPECT_EQ(judge(1, 0, 0), Verdict::kRight);
  history.end_change(3);
  EXPECT_EQ(judge(3, 0, 0), Verdict::kRight);
  history.begin_change();
  times[0] = now_ns();
  history.end_change(3);  // it failed
  EXPECT_EQ(judge(4, 0, 0), Verdict::kWrong);
}

}  // namespace
}  // namespace opyard::torture
