// Opening, finding, expiring and closing sessions.
#include "opyard/runtime/sessions.h"

#include <gtest/gtest.h>

#include <future>
#include <set>
#include <thread>

#include "tests/unit/runtime/test_operators.h"

namespace opyard::runtime {
namespace {

Quotas small_quotas() {
  Quotas quotas;
  quotas.total_bytes = 1 << 20;
  quotas.session_bytes = 1 << 20;
  quotas.session_handles = 100;
  quotas.sessions = 3;
  return quotas;
}

template <typename Work>
Code code_of(Work work) {
  try {
    work();
    return Code::kOk;
  } catch (const Error& error) {
    return error.code();
  }
}

class SessionsTest : public ::testing::Test {
 protected:
  Executor executor_{2};
  Sessions sessions_{small_quotas(), executor_};
};

TEST_F(SessionsTest, TokensAreDifferentAndNeeded) {
  std::set<std::string> tokens;
  for (int i = 0; i < 3; ++i) tokens.insert(sessions_.open({})->token().to_bytes());
  EXPECT_EQ(tokens.size(), 3u);
  for (const std::string& token : tokens) {
    EXPECT_EQ(sessions_.find(token)->token().to_bytes(), token);
  }
  EXPECT_EQ(code_of([&] { sessions_.find(""); }), Code::kUnauthenticated);
  EXPECT_EQ(code_of([&] { sessions_.find("short"); }), Code::kUnauthenticated);
  EXPECT_EQ(code_of([&] { sessions_.find(std::string(16, 'x')); }), Code::kNotFound);
}

TEST_F(SessionsTest, CountsAndWishesAreBounded) {
  SessionWish greedy;
  greedy.bytes = (1 << 20) + 1;
  EXPECT_EQ(code_of([&] { sessions_.open(greedy); }), Code::kInvalidArgument);
  SessionWish talkative;
  talkative.label = std::string(kLimits.label_bytes + 1, 'x');
  EXPECT_EQ(code_of([&] { sessions_.open(talkative); }), Code::kInvalidArgument);
  for (int i = 0; i < 3; ++i) sessions_.open({});
  EXPECT_EQ(code_of([&] { sessions_.open({}); }), Code::kResourceExhausted);
}

TEST_F(SessionsTest, ClosingFreesAndTells) {
  testing::define_test_operators();
  const std::shared_ptr<Session> session = sessions_.open({});
  const std::string token = session->token().to_bytes();
  bool told = false;
  session->ended().watch([&] { told = true; });
  testing::in_session(*session, [&] {
    session->bind_upload(make_id(0, 1), session->new_tensor({256}, "float32", "", 1024));
  });
  std::promise<Freed> done;
  sessions_.close(token, [&](Freed freed) { done.set_value(freed); });
  const Freed freed = done.get_future().get();
  EXPECT_EQ(freed.handles, 1u);
  EXPECT_EQ(freed.bytes, 1024u);
  EXPECT_TRUE(told);
  EXPECT_EQ(sessions_.ledger().used(), 0u);
  EXPECT_EQ(code_of([&] { session->run([] {}); }), Code::kAborted);
  EXPECT_EQ(code_of([&] { session->open_stream(); }), Code::kAborted);
  EXPECT_EQ(code_of([&] { sessions_.find(token); }), Code::kNotFound);
  EXPECT_EQ(code_of([&] { sessions_.close(token, [](Freed) {}); }), Code::kNotFound);
}

TEST_F(SessionsTest, IdleSessionsExpireAndUsedOnesDoNot) {
  SessionWish brief;
  brief.lease_seconds = 1;
  const std::string idle = sessions_.open(brief)->token().to_bytes();
  const std::string used = sessions_.open(brief)->token().to_bytes();
  const SessionUse use = sessions_.find(used);
  const auto start = Clock::now();
  while (sessions_.size() > 1 && Clock::now() - start < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(code_of([&] { sessions_.find(idle); }), Code::kNotFound);
  EXPECT_EQ(code_of([&] { sessions_.find(used); }), Code::kOk);
}

TEST_F(SessionsTest, StreamsAreNumberedAndBounded) {
  const std::shared_ptr<Session> session = sessions_.open({});
  std::vector<std::shared_ptr<Stream>> streams;
  for (uint32_t i = 0; i < kLimits.streams_per_session; ++i) {
    streams.push_back(session->open_stream());
    EXPECT_EQ(streams.back()->number(), i + 1);
  }
  EXPECT_EQ(code_of([&] { session->open_stream(); }), Code::kResourceExhausted);
  streams.pop_back();
  EXPECT_EQ(session->open_stream()->number(), kLimits.streams_per_session + 1)
      << "a number is never given twice";
}

TEST_F(SessionsTest, StreamNumbersRunOut) {
  const std::shared_ptr<Session> session = sessions_.open({});
  uint32_t last = 0;
  const Code code = code_of([&] {
    while (true) last = session->open_stream()->number();
  });
  EXPECT_EQ(code, Code::kResourceExhausted);
  EXPECT_EQ(last, 65535u);
}

TEST_F(SessionsTest, DrainingOpensNoNewOnes) {
  const std::string token = sessions_.open({})->token().to_bytes();
  sessions_.refuse_new();
  EXPECT_EQ(code_of([&] { sessions_.open({}); }), Code::kUnavailable);
  EXPECT_EQ(code_of([&] { sessions_.find(token); }), Code::kOk);
}

}  // namespace
}  // namespace opyard::runtime
