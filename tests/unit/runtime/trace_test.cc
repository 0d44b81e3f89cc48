#include "opyard/runtime/trace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "opyard/core/local_keys.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/limits.h"
#include "opyard/runtime/sessions.h"
#include "tests/unit/runtime/test_operators.h"

namespace opyard::runtime {
namespace {

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() {
    opyard::testing::define_test_operators();
    quotas_.total_bytes = quotas_.session_bytes = 64 << 20;
    sessions_ = std::make_unique<Sessions>(quotas_, executor_);
    session_ = sessions_->open({});
    other_ = sessions_->open({});
  }

  // A call as one of the session's frames makes it.
  static void call(Session& session, int count = 1) {
    const ThreadStateGuard guard(ThreadStateSnapshot().with_budget(session.shared_budget().get()));
    const Dispatcher& dispatcher = Dispatcher::global();
    for (int i = 0; i < count; ++i) {
      Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
      dispatcher.call_boxed(dispatcher.get("test::twice"), stack);
    }
  }
  static std::vector<std::string> texts(const TraceBatch& batch) {
    std::vector<std::string> lines;
    for (const TracedCall& one : batch.calls) lines.push_back(one.text());
    return lines;
  }

  Quotas quotas_;
  Executor executor_{1};
  std::unique_ptr<Sessions> sessions_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<Session> other_;
  Traces traces_;
};

TEST_F(TraceTest, ShowsTheSessionsCallsAndNoOthers) {
  const auto mine = traces_.follow(*session_, "");
  const auto theirs = traces_.follow(*other_, "");
  call(*session_);
  EXPECT_EQ(texts(mine->feed().take(100)),
            std::vector<std::string>{" [callBoxed] op=[test::twice], key=[AutogradCPU]"});
  EXPECT_FALSE(theirs->feed().has_some());
  Stack nobodys = {IValue(make_tensor({1}, ScalarType::kFloat32))};
  Dispatcher::global().call_boxed(Dispatcher::global().get("test::twice"), nobodys);
  EXPECT_FALSE(mine->feed().has_some());
}

TEST_F(TraceTest, FollowsCallsToOtherThreads) {
  const auto following = traces_.follow(*session_, "");
  const ThreadStateGuard guard(ThreadStateSnapshot().with_budget(session_->shared_budget().get()));
  const ThreadStateSnapshot snapshot = ThreadStateSnapshot::take();
  std::thread([&] {
    const ThreadStateGuard hop(snapshot);
    Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
    Dispatcher::global().call_boxed(Dispatcher::global().get("test::twice"), stack);
  }).join();
  EXPECT_TRUE(following->feed().has_some());
}

TEST_F(TraceTest, ByTheBeginningOfTheName) {
  const auto none = traces_.follow(*session_, "aten::");
  const auto some = traces_.follow(*session_, "test::t");
  call(*session_);
  EXPECT_FALSE(none->feed().has_some());
  EXPECT_TRUE(some->feed().has_some());
  EXPECT_THROW(traces_.follow(*session_, std::string(300, 'x')), Error);
}

TEST_F(TraceTest, WhatFindsNoRoomIsCountedAndToldInItsPlace) {
  const auto following = traces_.follow(*session_, "");
  call(*session_, 2 * static_cast<int>(kLimits.trace_lines));
  TraceBatch batch = following->feed().take(10);
  EXPECT_EQ(batch.calls.size(), 10u);
  EXPECT_EQ(batch.lost, 0u) << "they come before the gap";
  batch = following->feed().take(100000);
  EXPECT_EQ(batch.calls.size(), kLimits.trace_lines - 10);
  EXPECT_EQ(batch.lost, kLimits.trace_lines);
  call(*session_);
  batch = following->feed().take(100000);
  EXPECT_EQ(batch.calls.size(), 1u);
  EXPECT_EQ(batch.lost, 0u);
}

TEST_F(TraceTest, CostsAndLimits) {
  EXPECT_FALSE(calls_are_observed());
  const uint64_t before = session_->budget().used();
  std::vector<std::unique_ptr<Following>> all;
  for (uint32_t i = 0; i < kLimits.traces_per_session; ++i) {
    all.push_back(traces_.follow(*session_, ""));
  }
  EXPECT_GE(session_->budget().used(), before + all.size() * kLimits.trace_lines * 16);
  try {
    traces_.follow(*session_, "");
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_NE(error.message().find("this session"), std::string::npos) << error.message();
  }
  std::vector<std::shared_ptr<Session>> more;
  while (all.size() < kLimits.traces) {
    if (all.size() % kLimits.traces_per_session == 0) more.push_back(sessions_->open({}));
    all.push_back(traces_.follow(*more.back(), ""));
  }
  EXPECT_THROW(traces_.follow(*other_, ""), Error);
  all.clear();
  EXPECT_EQ(traces_.count(), 0);
  EXPECT_FALSE(calls_are_observed());
  epoch::synchronize();  // then the feeds are gone
  EXPECT_EQ(session_->budget().used(), before);
  traces_.follow(*session_, "");
}

TEST_F(TraceTest, AFullQuotaRefuses) {
  const auto poor = sessions_->open({"", 0, 1000, 0});
  EXPECT_THROW(traces_.follow(*poor, ""), Error);
  EXPECT_EQ(traces_.count(), 0);
  EXPECT_FALSE(calls_are_observed());
}

TEST_F(TraceTest, VisitsUntilTheFollowingEnds) {
  const auto visits = std::make_shared<std::atomic<int>>(0);
  auto following = traces_.follow(*session_, "", [visits] { visits->fetch_add(1); });
  while (visits->load() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  following.reset();
  while (visits.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int last = visits->load();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_EQ(visits->load(), last);
}

TEST_F(TraceTest, FollowersComeAndGoWhileCallsRun) {
  std::atomic<bool> done{false};
  std::thread caller([&] {
    while (!done.load()) call(*session_, 10);
  });
  std::vector<std::thread> followers;
  std::atomic<uint64_t> seen{0};
  for (int i = 0; i < 3; ++i) {
    followers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const auto following = traces_.follow(*session_, "test::", [] {});
        for (int reads = 0; reads < 3; ++reads) {
          const TraceBatch batch = following->feed().take(100);
          for (const TracedCall& one : batch.calls) seen += one.text().starts_with(" ");
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& follower : followers) follower.join();
  done.store(true);
  caller.join();
  EXPECT_GT(seen.load(), 0u);
  EXPECT_EQ(traces_.count(), 0);
  EXPECT_FALSE(calls_are_observed());
}

}  // namespace
}  // namespace opyard::runtime
