// Two sockets of one daemon: what each serves, and where the operator's lies.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "opyard/v1/plugins.grpc.pb.h"
#include "tests/unit/daemon/rpc_fixture.h"
#include "tests/unit/daemon/temporary_directory.h"

namespace opyard::daemon {
namespace {

class AdminSocketTest : public RpcTest {
 protected:
  std::shared_ptr<grpc::Channel> admin_channel() {
    return grpc::CreateChannel(daemon_->admin_address(), grpc::InsecureChannelCredentials());
  }
};

TEST_F(AdminSocketTest, EachSocketServesItsOwn) {
  EXPECT_EQ(daemon_->admin_address(), "unix:" + directory_.file("s.admin"));
  v1::ListPluginsReply list;
  const auto admin = v1::Plugins::NewStub(admin_channel());
  const grpc::Status listed = admin->List(context("").get(), {}, &list);
  EXPECT_TRUE(listed.ok()) << listed.error_message();
  EXPECT_EQ(v1::Plugins::NewStub(channel_)->List(context("").get(), {}, &list).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  v1::OpReply reply;
  EXPECT_EQ(v1::Ops::NewStub(admin_channel())->Call(context().get(), {}, &reply).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(AdminSocketTest, CallsOfClientsAreCounted) {
  put(1, {1, 2});
  v1::OpFrame frame;
  add_op(&frame, 1, "test::twice", {1}, {2});
  add_op(&frame, 2, "test::refuse", {1}, {3});
  call(frame);
  v1::ListPluginsReply list;
  ASSERT_TRUE(v1::Plugins::NewStub(admin_channel())->List(context("").get(), {}, &list).ok());
  EXPECT_EQ(list.calls().accepted(), 2u);
  EXPECT_EQ(list.calls().completed(), 1u);
  EXPECT_EQ(list.calls().failed(), 1u);
  EXPECT_EQ(list.calls().in_flight(), 0u);
}

TEST_F(AdminSocketTest, ANameIsNoPath) {
  const auto admin = v1::Plugins::NewStub(admin_channel());
  for (const char* name : {"../cpu", "/tmp/x.so", "a/b", "..", "a b", "a\nb"}) {
    v1::LoadPluginRequest request;
    request.set_name(name);
    v1::ChangePluginReply reply;
    EXPECT_EQ(admin->Load(context("").get(), request, &reply).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << name;
  }
}

class NoAdminSocketTest : public RpcTest {
 protected:
  NoAdminSocketTest() : RpcTest([](Options& options) { options.admin_socket = "none"; }) {}
};

TEST_F(NoAdminSocketTest, ThereIsNone) { EXPECT_EQ(daemon_->admin_address(), ""); }

TEST(AdminSocketOptionTest, PathsOfItsOwn) {
  const TemporaryDirectory directory;
  Options options;
  options.no_plugins = true;
  options.listen = {"unix:" + directory.file("s")};
  options.admin_socket = directory.file("other");
  EXPECT_EQ(Daemon(options).admin_address(), "unix:" + directory.file("other"));
  options.admin_socket.clear();
  const std::string longest = directory.file(std::string(kMaxSocketPath, 'x'));
  options.listen = {"unix:" + longest.substr(0, kMaxSocketPath)};
  EXPECT_EQ(Daemon(options).admin_address(), "")
      << "no room for .admin, which is no reason to fail";
  options.admin_socket = longest;
  EXPECT_THROW(Daemon{options}, Error);
}

}  // namespace
}  // namespace opyard::daemon
