// accepted = completed + failed + cancelled + in flight, at every instant.
#include "opyard/runtime/call_counts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "opyard/runtime/yard.h"
#include "tests/unit/runtime/test_operators.h"

namespace opyard::runtime {
namespace {

using testing::call;
using testing::id;

void expect_totals(const CallTotals& totals, uint64_t completed, uint64_t failed,
                   uint64_t cancelled) {
  EXPECT_EQ(totals.completed, completed);
  EXPECT_EQ(totals.failed, failed);
  EXPECT_EQ(totals.cancelled, cancelled);
  EXPECT_EQ(totals.accepted, completed + failed + cancelled);
  EXPECT_EQ(totals.in_flight(), 0u);
}

TEST(CallCountsTest, AFrameThatBreaksOffLeavesNothingInFlight) {
  CallCounts counts;
  {
    AcceptedCalls frame(counts, 5);
    frame.end(CallCounts::End::kCompleted);
    frame.end(CallCounts::End::kFailed);
    EXPECT_EQ(counts.totals().in_flight(), 3u);
  }
  expect_totals(counts.totals(), 1, 1, 3);
}

// More threads than places, so that some share one. The samples are taken while they count.
TEST(CallCountsTest, NeverMoreEndedThanAccepted) {
  constexpr int kThreads = 40;
  constexpr int kFrames = 2000;
  CallCounts counts;
  std::atomic<int> running{kThreads};
  std::array<std::atomic<uint64_t>, 3> ended{};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kFrames; ++i) {
        const unsigned calls = random() % 7;
        AcceptedCalls frame(counts, calls);
        for (unsigned c = 0; c < calls; ++c) {
          const unsigned how = random() % 4;
          if (how == 3) {  // the rest breaks off
            ended[2] += calls - c;
            break;
          }
          frame.end(static_cast<CallCounts::End>(how));
          ++ended[how];
        }
      }
      --running;
    });
  }
  uint64_t samples = 0;
  CallTotals before;
  while (running > 0) {
    const CallTotals now = counts.totals();
    ASSERT_LE(now.ended(), now.accepted);
    ASSERT_LE(before.accepted, now.accepted);
    ASSERT_LE(before.ended(), now.ended());
    before = now;
    ++samples;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(samples, 0u);
  expect_totals(counts.totals(), ended[0], ended[1], ended[2]);
}

class FrameCountsTest : public ::testing::Test {
 protected:
  FrameCountsTest() { testing::define_test_operators(); }
  CallTotals totals() { return yard_.sessions().call_totals(); }
  // In a session of its own.
  void run(const Frame& frame) {
    const auto session = yard_.sessions().open({});
    testing::in_session(*session, [&] { session->execute(session->calls(), frame); });
  }
  Yard yard_;
};

OpCall twice(uint64_t seq, Id of, Id to) { return call(seq, "test::twice", {id(of)}, {to}); }

InlinePut one_float(Id to) {
  static const std::string bytes(4, '\0');
  return {to, "float32", {1}, bytes, ""};
}

TEST_F(FrameCountsTest, EachCallOfAFrameEndsInOneWay) {
  Frame frame;
  frame.puts.push_back(one_float(1));
  frame.ops = {twice(1, 1, 2), call(2, "test::missing", {}, {3}), twice(3, 3, 4), twice(4, 2, 5)};
  frame.ops.back().deadline_ms = 1;
  frame.arrival = Clock::now() - std::chrono::seconds(1);
  run(frame);
  expect_totals(totals(), 1, 2, 1);
  Frame late;
  late.puts.push_back(one_float(1));
  late.ops = {twice(1, 1, 2), twice(2, 2, 3)};
  late.deadline = Clock::now() - std::chrono::seconds(1);
  run(late);
  expect_totals(totals(), 1, 2, 3);
}

TEST_F(FrameCountsTest, PutsAndFetchesAreNoCalls) {
  Frame frame;
  frame.puts.push_back(one_float(1));
  frame.fetches = {{1, Want::kValue}, {9, Want::kValue}};
  run(frame);
  expect_totals(totals(), 0, 0, 0);
}

// Sessions of several threads; every sample holds, and at the end their own tally is the yard's.
TEST_F(FrameCountsTest, HoldsWhileSessionsRun) {
  constexpr int kThreads = 4;
  constexpr int kFrames = 200;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto session = yard_.sessions().open({});
      for (uint64_t i = 0; i < kFrames; ++i) {
        const Id base = 10 * i + 1;
        Frame frame;
        frame.puts.push_back(one_float(base));
        frame.ops = {twice(3 * i + 1, base, base + 1), twice(3 * i + 2, base + 9, base + 2),
                     twice(3 * i + 3, base + 1, base + 3)};
        frame.releases = {base, base + 1, base + 2, base + 3};
        testing::in_session(*session, [&] { session->execute(session->calls(), frame); });
      }
      --running;
    });
  }
  while (running > 0) {
    const CallTotals now = totals();
    ASSERT_LE(now.ended(), now.accepted);
  }
  for (std::thread& thread : threads) thread.join();
  expect_totals(totals(), 2 * kFrames * kThreads, kFrames * kThreads, 0);
}

}  // namespace
}  // namespace opyard::runtime
