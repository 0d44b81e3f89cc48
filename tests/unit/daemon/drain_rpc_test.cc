// What happens to those who are connected when the daemon drains.
#include <future>
#include <thread>

#include "tests/unit/daemon/rpc_fixture.h"

namespace opyard::daemon {
namespace {

class DrainRpcTest : public RpcTest {};

TEST_F(DrainRpcTest, CallsUnderWayFinish) {
  v1::OpFrame slow;
  add_op(&slow, 1, "test::rest", {})->add_args()->set_int_value(1200);
  slow.set_fence(1);
  auto call = std::async(std::launch::async, [&] {
    v1::OpReply reply;
    const grpc::Status status = ops_->Call(context().get(), slow, &reply);
    EXPECT_EQ(reply.fence().fence(), 1u);
    return status;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  daemon_->drain();
  const grpc::Status status = call.get();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(DrainRpcTest, IdleStreamsEndAtOnceWithTheReason) {
  const auto context = this->context();
  const auto stream = ops_->Stream(context.get());
  v1::OpReply reply;
  ASSERT_TRUE(stream->Read(&reply));
  const auto start = std::chrono::steady_clock::now();
  daemon_->drain();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_FALSE(stream->Read(&reply));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(info_of(status).reason(), "DRAINING");
}

TEST_F(DrainRpcTest, AFrameUnderWayIsAnsweredBeforeItsStreamEnds) {
  const auto context = this->context();
  const auto stream = ops_->Stream(context.get());
  v1::OpReply reply;
  ASSERT_TRUE(stream->Read(&reply));
  v1::OpFrame slow;
  add_op(&slow, 1, "test::rest", {})->add_args()->set_int_value(1200);
  slow.set_fence(7);
  ASSERT_TRUE(stream->Write(slow));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  daemon_->drain();
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.fence().fence(), 7u);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DrainRpcTest, AfterwardsNobodyIsThere) {
  daemon_->drain();
  daemon_->drain();
  v1::OpReply reply;
  EXPECT_EQ(ops_->Call(context().get(), {}, &reply).error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace opyard::daemon
