// Following a session's calls.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "opyard/dispatch/observer.h"
#include "opyard/runtime/limits.h"
#include "tests/unit/daemon/rpc_fixture.h"

namespace opyard::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using TraceClient = grpc::ClientReaderWriter<v1::TraceRequest, v1::TraceReply>;

class TraceRpcTest : public RpcTest {
 protected:
  // A trace that has begun; `context` must outlive it.
  std::unique_ptr<TraceClient> begin(grpc::ClientContext* context, const std::string& prefix = "") {
    auto stream = ops_->Trace(context);
    v1::TraceRequest request;
    request.set_op_prefix(prefix);
    EXPECT_TRUE(stream->Write(request));
    v1::TraceReply reply;
    EXPECT_TRUE(stream->Read(&reply));
    EXPECT_TRUE(reply.started());
    return stream;
  }
  std::vector<std::string> rest_of(TraceClient& stream, uint64_t* lost = nullptr) {
    std::vector<std::string> lines;
    for (v1::TraceReply reply; stream.Read(&reply);) {
      for (const v1::TraceLine& line : reply.lines()) lines.push_back(line.text());
      if (lost != nullptr) *lost += reply.lost();
    }
    return lines;
  }
  void twice(uint64_t seq, int count = 1) {
    v1::OpFrame frame;
    for (int i = 0; i < count; ++i) add_op(&frame, seq++, "test::twice", {1});
    EXPECT_EQ(call(frame).errors_size(), 0);
  }
  void end_when_nobody_follows() {
    for (int i = 0; i < 500 && daemon_->yard().traces().count() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(daemon_->yard().traces().count(), 0);
    EXPECT_FALSE(calls_are_observed());
  }
};

TEST_F(TraceRpcTest, TheLinesOfTheCallsBetweenBeginAndEnd) {
  put(1, {1});
  twice(1);
  const auto context = this->context();
  const auto stream = begin(context.get());
  twice(2);
  stream->WritesDone();
  EXPECT_THAT(rest_of(*stream), ElementsAre(" [callBoxed] op=[test::twice], key=[AutogradCPU]"));
  EXPECT_TRUE(stream->Finish().ok());
  end_when_nobody_follows();
}

TEST_F(TraceRpcTest, LinesComeWhileTheStreamIsOpenAndSayWhatTheyAre) {
  put(1, {1});
  const auto context = this->context();
  const auto stream = begin(context.get(), "test::tw");
  twice(1);
  v1::TraceReply reply;
  ASSERT_TRUE(stream->Read(&reply));
  ASSERT_GE(reply.lines_size(), 1);
  EXPECT_EQ(reply.lines(0).op(), "test::twice");
  EXPECT_EQ(reply.lines(0).key(), "AutogradCPU");
  EXPECT_EQ(reply.lines(0).label(), "callBoxed");
  EXPECT_EQ(reply.lines(0).depth(), 1u);
  context->TryCancel();
  stream->Finish();
  end_when_nobody_follows();
}

TEST_F(TraceRpcTest, NobodySeesTheCallsOfOthers) {
  put(1, {1});
  const auto context = this->context(open_session());
  const auto stream = begin(context.get());
  twice(1);
  stream->WritesDone();
  EXPECT_TRUE(rest_of(*stream).empty());
  EXPECT_TRUE(stream->Finish().ok());
  const auto nameless = this->context("");
  const auto refused = ops_->Trace(nameless.get());
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const auto wrong = this->context(std::string(16, 'x'));
  EXPECT_EQ(ops_->Trace(wrong.get())->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(TraceRpcTest, OneRequestAndSoManyStreams) {
  const auto context = this->context();
  const auto stream = begin(context.get());
  stream->Write({});
  rest_of(*stream);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  end_when_nobody_follows();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<TraceClient>> streams;
  for (uint32_t i = 0; i < runtime::kLimits.traces_per_session; ++i) {
    contexts.push_back(this->context());
    streams.push_back(begin(contexts.back().get()));
  }
  const auto one_more = this->context();
  const auto refused = ops_->Trace(one_more.get());
  refused->Write({});
  const grpc::Status status = refused->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("4 follow"));
  for (const auto& each : contexts) each->TryCancel();
  for (const auto& each : streams) each->Finish();
  end_when_nobody_follows();
}

TEST_F(TraceRpcTest, OneWhoDoesNotReadLosesLinesAndHoldsNobodyUp) {
  put(1, {1});
  const auto context = this->context();
  const auto stream = begin(context.get());
  const int frames = 200;
  for (int i = 0; i < frames; ++i) twice(1 + 500 * static_cast<uint64_t>(i), 500);
  stream->WritesDone();
  uint64_t lost = 0;
  const size_t lines = rest_of(*stream, &lost).size();
  EXPECT_EQ(lines + lost, 500u * frames) << "every line is shown or counted";
  EXPECT_GT(lost, 0u);
  EXPECT_GT(lines, 1000u);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(TraceRpcTest, EndsWithItsSessionAndDoesNotKeepItAlive) {
  const auto context = this->context();
  const auto stream = begin(context.get());
  v1::CloseSessionRequest request;
  request.set_token(token_);
  v1::CloseSessionReply reply;
  ASSERT_TRUE(control_->CloseSession(this->context("").get(), request, &reply).ok());
  rest_of(*stream);
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(info_of(status).reason(), "SESSION_LOST");
  end_when_nobody_follows();
  v1::OpenSessionRequest brief;
  brief.set_lease_seconds(1);
  v1::OpenSessionReply opened;
  ASSERT_TRUE(control_->OpenSession(this->context("").get(), brief, &opened).ok());
  const auto second = this->context(opened.token());
  const auto follower = begin(second.get());
  rest_of(*follower);
  EXPECT_EQ(follower->Finish().error_code(), grpc::StatusCode::ABORTED) << "the lease is over";
}

TEST_F(TraceRpcTest, ADrainEndsItAlsoWhenNobodyReads) {
  put(1, {1});
  const auto reads = this->context();
  const auto reading = begin(reads.get());
  const auto sleeps = this->context();
  const auto sleeping = begin(sleeps.get());
  for (uint64_t i = 0; i < 200; ++i) twice(1 + 500 * i, 500);
  std::thread reader([&] {
    rest_of(*reading);
    const grpc::Status status = reading->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(info_of(status).reason(), "DRAINING");
  });
  const auto start = std::chrono::steady_clock::now();
  daemon_->drain();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  reader.join();
  EXPECT_FALSE(sleeping->Finish().ok());
}

TEST_F(TraceRpcTest, StreamsComeAndGoWhileCallsRun) {
  put(1, {1});
  std::atomic<bool> done{false};
  std::thread caller([&] {
    for (uint64_t seq = 1; !done.load(); seq += 50) twice(seq, 50);
  });
  std::vector<std::thread> followers;
  for (int i = 0; i < 2; ++i) {
    followers.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        // Cancelled ones may take a moment to go.
        while (daemon_->yard().traces().count() > 2) std::this_thread::yield();
        const auto context = this->context();
        const auto stream = begin(context.get());
        v1::TraceReply reply;
        EXPECT_TRUE(stream->Read(&reply));
        if ((round + i) % 2 == 0) {
          context->TryCancel();
        } else {
          stream->WritesDone();
          rest_of(*stream);
        }
        const grpc::Status status = stream->Finish();
        EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED)
            << status.error_message();
      }
    });
  }
  for (std::thread& follower : followers) follower.join();
  done.store(true);
  caller.join();
  end_when_nobody_follows();
}

}  // namespace
}  // namespace opyard::daemon
