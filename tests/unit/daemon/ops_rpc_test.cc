// Calls and streams of frames, good and hostile.
#include <gmock/gmock.h>

#include <thread>

#include "opyard/runtime/limits.h"
#include "tests/unit/daemon/rpc_fixture.h"

namespace opyard::daemon {
namespace {

using runtime::kLimits;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpsRpcTest : public RpcTest {
 protected:
  // A stream and the first id that it may use.
  struct Open {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<StreamWriter> stream;
    uint64_t base = 0;
  };
  Open open_stream() {
    Open open;
    open.context = context();
    open.stream = ops_->Stream(open.context.get());
    v1::OpReply first;
    EXPECT_TRUE(open.stream->Read(&first));
    EXPECT_TRUE(first.has_opened());
    open.base = static_cast<uint64_t>(first.opened().stream()) << 48;
    return open;
  }
  v1::OpReply exchange(Open& open, const v1::OpFrame& frame) {
    v1::OpReply reply;
    EXPECT_TRUE(open.stream->Write(frame));
    EXPECT_TRUE(open.stream->Read(&reply));
    return reply;
  }
};

TEST_F(OpsRpcTest, UnaryFrameWithEverythingInIt) {
  v1::OpFrame frame;
  add_put(&frame, 1, {1, 2});
  add_op(&frame, 1, "test::twice", {1}, {2});
  v1::OpCall* scale = add_op(&frame, 2, "test::scale", {2}, {3});
  v1::NamedValue* by = scale->add_kwargs();
  by->set_name("by");
  by->mutable_value()->set_double_value(0.25);
  scale->set_want(v1::WANT_VALUE);
  frame.add_fetch()->set_id(2);
  frame.add_release(1);
  frame.set_fence(42);
  const v1::OpReply reply = call(frame);
  EXPECT_EQ(reply.errors_size(), 0);
  EXPECT_EQ(reply.ack(), 2u);
  ASSERT_EQ(reply.results_size(), 2);
  EXPECT_THAT(floats_in(reply.results(0).data()), ElementsAre(0.5, 1));
  EXPECT_EQ(reply.results(0).id(), 3u);
  EXPECT_EQ(reply.results(0).seq(), 2u);
  EXPECT_EQ(reply.results(0).meta().dtype(), "float32");
  EXPECT_THAT(floats_in(reply.results(1).data()), ElementsAre(2, 4));
  EXPECT_EQ(reply.results(1).seq(), 0u);
  EXPECT_EQ(reply.fence().fence(), 42u);
  EXPECT_GT(reply.fence().timings().kernel_ns(), 0u);
  v1::OpFrame after;
  after.add_fetch()->set_id(1);
  EXPECT_EQ(call(after).errors(0).code(), 5) << "released";
}

TEST_F(OpsRpcTest, ScalarResultsComeInline) {
  put(1, {1, 2, 3});
  v1::OpFrame frame;
  add_op(&frame, 1, "test::numel", {1})->set_want(v1::WANT_VALUE);
  const v1::OpReply reply = call(frame);
  ASSERT_EQ(reply.results_size(), 1);
  EXPECT_EQ(reply.results(0).value().int_value(), 3);
  EXPECT_FALSE(reply.results(0).has_meta());
}

TEST_F(OpsRpcTest, StreamPipelinesDependentCalls) {
  Open open = open_stream();
  v1::OpFrame first;
  add_put(&first, open.base + 1, {1});
  ASSERT_TRUE(open.stream->Write(first));
  for (uint64_t i = 1; i <= 10; ++i) {
    v1::OpFrame frame;
    v1::OpCall* op =
        add_op(&frame, i, i == 1 ? "test::twice" : "", {open.base + i}, {open.base + i + 1});
    op->set_op_index(1);
    ASSERT_TRUE(open.stream->Write(frame));
  }
  v1::OpFrame last;
  last.add_fetch()->set_id(open.base + 11);
  const v1::OpReply reply = exchange(open, last);
  ASSERT_EQ(reply.results_size(), 1);
  EXPECT_THAT(floats_in(reply.results(0).data()), ElementsAre(1024));
  open.stream->WritesDone();
  EXPECT_TRUE(open.stream->Finish().ok());
}

TEST_F(OpsRpcTest, QuietFramesAreAcknowledgedNowAndThen) {
  Open open = open_stream();
  for (uint64_t i = 1; i <= 16; ++i) {
    v1::OpFrame frame;
    v1::OpCall* op = add_op(&frame, i, "test::make", {}, {open.base + i});
    op->add_args()->set_int_value(1);
    ASSERT_TRUE(open.stream->Write(frame));
  }
  v1::OpReply reply;
  ASSERT_TRUE(open.stream->Read(&reply));
  EXPECT_EQ(reply.ack(), 16u);
}

TEST_F(OpsRpcTest, StreamsHaveNumbersOfTheirOwn) {
  Open first = open_stream();
  Open second = open_stream();
  EXPECT_NE(first.base, second.base);
  v1::OpFrame frame;
  add_put(&frame, first.base + 1, {1});
  const v1::OpReply reply = exchange(second, frame);
  ASSERT_EQ(reply.errors_size(), 1);
  EXPECT_EQ(reply.errors(0).code(), 3);
  v1::OpFrame shared;
  add_put(&shared, first.base + 1, {5});
  shared.set_fence(1);
  exchange(first, shared);
  v1::OpFrame other;
  other.add_fetch()->set_id(first.base + 1);
  EXPECT_EQ(exchange(second, other).results_size(), 1) << "values belong to the session";
}

TEST_F(OpsRpcTest, ErrorsNameWhatIsWrong) {
  put(1, {1, 2});
  v1::OpFrame frame;
  add_op(&frame, 1, "test::twise", {1});
  add_op(&frame, 2, "test::twice", {});
  add_op(&frame, 3, "test::twice", {99}, {2});
  add_op(&frame, 4, "test::twice", {2}, {3});
  add_op(&frame, 5, "test::refuse", {1});
  add_op(&frame, 6, "test::twice", {1}, {4});
  const v1::OpReply reply = call(frame);
  ASSERT_EQ(reply.errors_size(), 5);
  EXPECT_EQ(reply.errors(0).code(), 5);
  EXPECT_THAT(reply.errors(0).message(), HasSubstr("test::twice"));
  EXPECT_EQ(reply.errors(0).info().reason(), "UNKNOWN_OP");
  EXPECT_EQ(reply.errors(1).code(), 3);
  EXPECT_EQ(reply.errors(1).info().argument(), "x");
  EXPECT_EQ(reply.errors(2).code(), 5);
  EXPECT_EQ(reply.errors(3).code(), 9);
  EXPECT_EQ(reply.errors(3).info().cause().seq(), 3u);
  EXPECT_EQ(reply.errors(4).code(), 11);
  EXPECT_EQ(reply.errors(4).seq(), 5u);
  EXPECT_THAT(get(4), ElementsAre(2, 4));
  EXPECT_THAT(get(1), ElementsAre(1, 2)) << "nothing is lost";
}

TEST_F(OpsRpcTest, FramesUpToTheLimitAreTaken) {
  v1::OpFrame frame;
  const size_t elements = kLimits.frame_bytes / sizeof(float) - 16;
  add_put(&frame, 1, std::vector<float>(elements, 1));
  ASSERT_LE(frame.ByteSizeLong(), kLimits.frame_bytes);
  EXPECT_EQ(call(frame).errors_size(), 0);
}

TEST_F(OpsRpcTest, OverlongFramesEndThatCallOnly) {
  put(1, {7});
  for (const size_t bytes : {kLimits.frame_bytes, 3 * kLimits.frame_bytes}) {
    v1::OpFrame frame;
    add_put(&frame, 2, std::vector<float>(bytes / sizeof(float), 1));
    ASSERT_GT(frame.ByteSizeLong(), kLimits.frame_bytes);
    v1::OpReply reply;
    const grpc::Status status = ops_->Call(context().get(), frame, &reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << bytes;
  }
  EXPECT_THAT(get(1), ElementsAre(7)) << "the session and its connection live on";
}

TEST_F(OpsRpcTest, OverlongFramesEndThatStreamOnly) {
  put(1, {7});
  for (const size_t bytes : {kLimits.frame_bytes, 3 * kLimits.frame_bytes}) {
    Open open = open_stream();
    v1::OpFrame frame;
    add_put(&frame, open.base + 1, std::vector<float>(bytes / sizeof(float), 1));
    open.stream->Write(frame);
    v1::OpReply reply;
    EXPECT_FALSE(open.stream->Read(&reply));
    const grpc::Status status = open.stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << bytes;
  }
  Open again = open_stream();
  v1::OpFrame frame;
  frame.add_fetch()->set_id(1);
  EXPECT_EQ(exchange(again, frame).results_size(), 1);
}

TEST_F(OpsRpcTest, TooManyOperationsEndTheStream) {
  Open open = open_stream();
  v1::OpFrame frame;
  for (uint32_t i = 0; i <= kLimits.ops_per_frame; ++i) frame.add_ops()->set_seq(i + 1);
  ASSERT_TRUE(open.stream->Write(frame));
  v1::OpReply reply;
  EXPECT_FALSE(open.stream->Read(&reply));
  EXPECT_EQ(open.stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(OpsRpcTest, ClosingTheSessionEndsItsStreams) {
  Open open = open_stream();
  v1::CloseSessionRequest request;
  request.set_token(token_);
  v1::CloseSessionReply closed;
  ASSERT_TRUE(control_->CloseSession(context("").get(), request, &closed).ok());
  v1::OpReply reply;
  EXPECT_FALSE(open.stream->Read(&reply));
  const grpc::Status status = open.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(info_of(status).reason(), "SESSION_LOST");
}

TEST_F(OpsRpcTest, ACancelledStreamLeavesTheSessionIntact) {
  put(1, {7});
  for (int i = 0; i < 20; ++i) {
    Open open = open_stream();
    v1::OpFrame frame;
    v1::OpCall* op = add_op(&frame, 1, "test::rest", {});
    op->add_args()->set_int_value(i % 3);
    frame.set_fence(1);
    open.stream->Write(frame);
    open.context->TryCancel();
    EXPECT_EQ(open.stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_THAT(get(1), ElementsAre(7));
}

TEST_F(OpsRpcTest, DeadlineOfACallBehindASlowOne) {
  v1::OpFrame slow;
  add_op(&slow, 1, "test::rest", {})->add_args()->set_int_value(1500);
  std::thread sleeper([&] { call(slow); });
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  v1::OpFrame late;
  add_put(&late, 1, {1});
  const auto hurried = context();
  hurried->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::OpReply reply;
  EXPECT_EQ(ops_->Call(hurried.get(), late, &reply).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  sleeper.join();
  v1::OpFrame fetch;
  fetch.add_fetch()->set_id(1);
  EXPECT_EQ(call(fetch).errors_size(), 1) << "what had not been started has not run";
}

TEST_F(OpsRpcTest, ASlowSessionDoesNotStopTheOthers) {
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 2; ++i) {
    const std::string token = open_session();
    sleepers.emplace_back([this, token] {
      v1::OpFrame slow;
      add_op(&slow, 1, "test::rest", {})->add_args()->set_int_value(2000);
      v1::OpReply reply;
      EXPECT_TRUE(ops_->Call(context(token).get(), slow, &reply).ok());
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  v1::HandshakeRequest request;
  request.set_min_version(1);
  request.set_max_version(1);
  v1::HandshakeReply reply;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(control_->Handshake(context("").get(), request, &reply).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  for (std::thread& sleeper : sleepers) sleeper.join();
}

}  // namespace
}  // namespace opyard::daemon
