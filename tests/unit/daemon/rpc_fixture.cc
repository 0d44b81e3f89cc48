#include "tests/unit/daemon/rpc_fixture.h"

#include <cstring>

#include "tests/unit/runtime/test_operators.h"

namespace opyard::daemon {

RpcTest::RpcTest(const std::function<void(Options&)>& change) {
  opyard::testing::define_test_operators();
  Options options;
  options.listen = {"unix:" + directory_.file("s")};
  options.no_plugins = true;
  options.drain_seconds = 10;
  if (change) change(options);
  daemon_ = std::make_unique<Daemon>(options);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxSendMessageSize(-1);
  channel_ = grpc::CreateCustomChannel(daemon_->addresses()[0], grpc::InsecureChannelCredentials(),
                                       arguments);
  control_ = v1::Control::NewStub(channel_);
  ops_ = v1::Ops::NewStub(channel_);
  tensors_ = v1::Tensors::NewStub(channel_);
  registry_ = v1::Registry::NewStub(channel_);
  token_ = open_session();
}

std::unique_ptr<grpc::ClientContext> RpcTest::context(const std::string& token) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  if (!token.empty()) context->AddMetadata("opyard-session-bin", token);
  return context;
}

std::string RpcTest::open_session() {
  v1::OpenSessionReply reply;
  const grpc::Status status = control_->OpenSession(context("").get(), {}, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.token().size(), 16u);
  return reply.token();
}

v1::OpReply RpcTest::call(const v1::OpFrame& frame) {
  v1::OpReply reply;
  const grpc::Status status = ops_->Call(context().get(), frame, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
}

void RpcTest::put(uint64_t id, const std::vector<float>& values) {
  v1::OpFrame frame;
  add_put(&frame, id, values);
  const v1::OpReply reply = call(frame);
  ASSERT_EQ(reply.errors_size(), 0) << reply.errors(0).message();
}

std::vector<float> RpcTest::get(uint64_t id) {
  v1::OpFrame frame;
  frame.add_fetch()->set_id(id);
  const v1::OpReply reply = call(frame);
  EXPECT_EQ(reply.results_size(), 1);
  return reply.results_size() == 1 ? floats_in(reply.results(0).data()) : std::vector<float>{};
}

v1::OpCall* add_op(v1::OpFrame* frame, uint64_t seq, const std::string& op,
                   const std::vector<uint64_t>& args, const std::vector<uint64_t>& results) {
  v1::OpCall* call = frame->add_ops();
  call->set_seq(seq);
  call->set_op(op);
  for (const uint64_t id : args) call->add_args()->set_id(id);
  for (const uint64_t id : results) call->add_results(id);
  return call;
}

void add_put(v1::OpFrame* frame, uint64_t id, const std::vector<float>& values) {
  v1::InlineTensor* put = frame->add_puts();
  put->set_id(id);
  put->set_dtype("float32");
  put->add_sizes(static_cast<int64_t>(values.size()));
  put->set_data(values.data(), values.size() * sizeof(float));
}

std::vector<float> floats_in(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

v1::ErrorInfo info_of(const grpc::Status& status) {
  v1::StatusDetails details;
  v1::ErrorInfo info;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(status.error_code()));
  if (details.details_size() > 0) {
    EXPECT_TRUE(details.details(0).UnpackTo(&info));
  }
  return info;
}

}  // namespace opyard::daemon
