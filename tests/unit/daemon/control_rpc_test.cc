// Handshake, sessions, health.
#include <grpcpp/generic/generic_stub.h>

#include "opyard/runtime/limits.h"
#include "tests/unit/daemon/rpc_fixture.h"

namespace opyard::daemon {
namespace {

class ControlRpcTest : public RpcTest {};

TEST_F(ControlRpcTest, HandshakeAgreesAndPublishesTheLimits) {
  v1::HandshakeRequest request;
  request.set_min_version(1);
  request.set_max_version(7);
  v1::HandshakeReply reply;
  ASSERT_TRUE(control_->Handshake(context("").get(), request, &reply).ok());
  EXPECT_EQ(reply.version(), 1u);
  EXPECT_EQ(reply.limits().frame_bytes(), runtime::kLimits.frame_bytes);
  EXPECT_EQ(reply.limits().ops_per_frame(), 1024u);
  EXPECT_GT(reply.limits().session_bytes(), 0u);
  EXPECT_EQ(reply.incarnation().size(), 16u);
  EXPECT_EQ(reply.server().rfind("opyardd ", 0), 0u);
  v1::HandshakeReply again;
  ASSERT_TRUE(control_->Handshake(context("").get(), request, &again).ok());
  EXPECT_EQ(again.incarnation(), reply.incarnation());
}

TEST_F(ControlRpcTest, HandshakeRefusesForeignVersions) {
  v1::HandshakeRequest request;
  request.set_min_version(2);
  request.set_max_version(3);
  v1::HandshakeReply reply;
  const grpc::Status status = control_->Handshake(context("").get(), request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("2 to 3"), std::string::npos);
}

TEST_F(ControlRpcTest, ClosingFreesOnce) {
  put(1, {1, 2, 3});
  v1::CloseSessionRequest request;
  request.set_token(token_);
  v1::CloseSessionReply reply;
  ASSERT_TRUE(control_->CloseSession(context("").get(), request, &reply).ok());
  EXPECT_EQ(reply.freed_handles(), 1u);
  EXPECT_EQ(reply.freed_bytes(), 12u);
  const grpc::Status again = control_->CloseSession(context("").get(), request, &reply);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::NOT_FOUND);
  v1::OpReply none;
  const grpc::Status call = ops_->Call(context().get(), {}, &none);
  EXPECT_EQ(call.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(info_of(call).reason(), "SESSION_LOST");
}

TEST_F(ControlRpcTest, WithoutATokenNothingIsDone) {
  v1::OpReply reply;
  EXPECT_EQ(ops_->Call(context("").get(), {}, &reply).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ops_->Call(context("short").get(), {}, &reply).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ops_->Call(context(std::string(16, 'x')).get(), {}, &reply).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ControlRpcTest, WishesAboveTheLimitsAreRefused) {
  v1::OpenSessionRequest request;
  request.set_lease_seconds(100000);
  v1::OpenSessionReply reply;
  EXPECT_EQ(control_->OpenSession(context("").get(), request, &reply).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ControlRpcTest, HealthIsServed) {
  // grpc.health.v1.HealthCheckRequest{service: "opyard.v1.Ops"} by hand: its stubs are not ours.
  const std::string service = "opyard.v1.Ops";
  std::string request = "\x0A";
  request += static_cast<char>(service.size());
  request += service;
  grpc::Slice slice(request);
  grpc::ByteBuffer buffer(&slice, 1);
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  const auto context = this->context("");
  const auto reader =
      stub.PrepareUnaryCall(context.get(), "/grpc.health.v1.Health/Check", buffer, &queue);
  reader->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  reader->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(reply.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& one : slices) bytes.append(one.begin(), one.end());
  EXPECT_EQ(bytes, std::string("\x08\x01")) << "SERVING";
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

class FewSessionsTest : public RpcTest {
 protected:
  FewSessionsTest() : RpcTest([](Options& options) { options.sessions = 2; }) {}
};

TEST_F(FewSessionsTest, SessionsAreBounded) {
  open_session();
  v1::OpenSessionReply reply;
  EXPECT_EQ(control_->OpenSession(context("").get(), {}, &reply).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace opyard::daemon
