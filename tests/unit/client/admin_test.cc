// The operator's client against a server that answers what the test says.
#include "client/cpp/admin.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>

#include "opyard/v1/common.pb.h"
#include "opyard/v1/plugins.grpc.pb.h"

namespace opyard::client {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class FakePlugins final : public v1::Plugins::Service {
 public:
  grpc::Status List(grpc::ServerContext*, const v1::ListPluginsRequest* request,
                    v1::ListPluginsReply* reply) override {
    list_request = *request;
    *reply = list;
    return status;
  }
  grpc::Status Load(grpc::ServerContext*, const v1::LoadPluginRequest* request,
                    v1::ChangePluginReply* reply) override {
    return answer("load " + request->name(), request->options(), reply);
  }
  grpc::Status Swap(grpc::ServerContext* context, const v1::SwapPluginRequest* request,
                    v1::ChangePluginReply* reply) override {
    while (hang && !context->IsCancelled()) usleep(1000);
    return answer("swap " + request->slot() + " " + request->name(), request->options(), reply);
  }
  grpc::Status Unload(grpc::ServerContext*, const v1::UnloadPluginRequest* request,
                      v1::ChangePluginReply* reply) override {
    return answer("unload " + request->slot(), request->options(), reply);
  }
  grpc::Status Rollback(grpc::ServerContext*, const v1::RollbackPluginRequest* request,
                        v1::ChangePluginReply* reply) override {
    return answer("rollback " + request->slot(), request->options(), reply);
  }
  grpc::Status Diff(grpc::ServerContext*, const v1::DiffPluginRequest* request,
                    v1::DiffPluginReply* reply) override {
    asked.push_back("diff " + request->slot() + " " + request->name());
    v1::PluginDifference* one = reply->add_differences();
    one->set_kind("flags");
    one->set_what("version");
    one->set_before("1");
    one->set_after("2");
    one->set_needs("--allow-loss");
    return status;
  }
  grpc::Status CountHits(grpc::ServerContext*, const v1::CountHitsRequest* request,
                         v1::ListPluginsReply* reply) override {
    asked.push_back("count " + std::to_string(request->milliseconds()));
    reply->set_counted_ns(7);
    return status;
  }

  v1::ListPluginsRequest list_request;
  v1::ListPluginsReply list;
  v1::ChangeOptions options;
  v1::ChangePluginReply change;
  std::vector<std::string> asked;
  grpc::Status status;
  bool hang = false;

 private:
  grpc::Status answer(const std::string& what, const v1::ChangeOptions& wishes,
                      v1::ChangePluginReply* reply) {
    asked.push_back(what);
    options = wishes;
    *reply = change;
    return status;
  }
};

class AdminTest : public ::testing::Test {
 protected:
  AdminTest() {
    char name[] = "/tmp/opyard-admin-XXXXXX";
    directory_ = mkdtemp(name);
    address_ = "unix:" + directory_ + "/s";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&plugins_);
    server_ = builder.BuildAndStart();
    admin_ = make_grpc_admin(address_, milliseconds(10'000));
  }
  ~AdminTest() override {
    server_->Shutdown(std::chrono::system_clock::now());
    unlink((directory_ + "/s").c_str());
    rmdir(directory_.c_str());
  }

  std::string directory_;
  std::string address_;
  FakePlugins plugins_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Admin> admin_;
};

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, "nothing was raised");
}

TEST_F(AdminTest, AListArrivesWhole) {
  v1::PluginSlot* slot = plugins_.list.add_slots();
  slot->set_name("toy");
  slot->set_device("toy");
  slot->set_backend("PrivateUse1");
  slot->set_active(7);
  slot->set_changes(4);
  slot->set_refused(2);
  v1::PluginGeneration* one = slot->add_generations();
  one->set_number(7);
  one->set_state("zombie");
  one->set_file("file");
  one->set_path("path");
  one->set_hash("hash");
  one->set_version("1.2.3");
  one->set_abi("1.0");
  one->set_fingerprint("print");
  one->set_same_build(true);
  one->set_probe("passed");
  one->set_typed_kernels(3);
  one->set_boxed_kernels(2);
  one->add_why_boxed()->set_text("in C");
  one->mutable_why_boxed(0)->set_count(2);
  one->add_kernels()->set_op("aten::a");
  one->mutable_kernels(0)->set_key("CPU");
  one->mutable_kernels(0)->set_typed(true);
  one->mutable_kernels(0)->set_why_boxed("why");
  one->set_hits_typed(11);
  one->set_hits_boxed(12);
  one->add_pins()->set_thread_id(99);
  one->mutable_pins(0)->set_holder("aten::mm");
  one->mutable_pins(0)->set_age_ns(1234);
  one->add_leases()->set_text("event");
  one->mutable_leases(0)->set_count(3);
  one->set_bytes_held(4096);
  one->add_pinned_dependencies("libgomp.so.1");
  one->add_warnings("warned");
  one->set_last_error("erred");
  one->set_why_not_unloaded("waits");
  one->set_age_ms(55);
  one->add_fallbacks()->set_text("aten::mm");
  one->mutable_fallbacks(0)->set_count(8);
  plugins_.list.add_available("a");
  plugins_.list.mutable_calls()->set_accepted(10);
  plugins_.list.mutable_calls()->set_completed(5);
  plugins_.list.mutable_calls()->set_failed(2);
  plugins_.list.mutable_calls()->set_cancelled(1);
  plugins_.list.mutable_calls()->set_in_flight(2);
  plugins_.list.add_under_way()->set_what("swap toy");
  plugins_.list.mutable_under_way(0)->set_age_ms(9);

  const PluginList list = admin_->list("toy", true);
  EXPECT_EQ(plugins_.list_request.slot(), "toy");
  EXPECT_TRUE(plugins_.list_request.with_kernels());
  ASSERT_EQ(list.slots.size(), 1u);
  EXPECT_EQ(list.slots[0].name, "toy");
  EXPECT_EQ(list.slots[0].device, "toy");
  EXPECT_EQ(list.slots[0].backend, "PrivateUse1");
  EXPECT_EQ(list.slots[0].active, 7u);
  EXPECT_EQ(list.slots[0].changes, 4u);
  EXPECT_EQ(list.slots[0].refused, 2u);
  ASSERT_EQ(list.slots[0].generations.size(), 1u);
  const PluginGeneration& got = list.slots[0].generations[0];
  EXPECT_EQ(got.number, 7u);
  EXPECT_EQ(got.state, "zombie");
  EXPECT_EQ(got.file + got.path + got.hash, "filepathhash");
  EXPECT_EQ(got.version + got.abi + got.fingerprint + got.probe, "1.2.31.0printpassed");
  EXPECT_TRUE(got.same_build);
  EXPECT_EQ(got.typed_kernels, 3u);
  EXPECT_EQ(got.boxed_kernels, 2u);
  EXPECT_THAT(got.why_boxed, ElementsAre(Pair("in C", 2)));
  ASSERT_EQ(got.kernels.size(), 1u);
  EXPECT_EQ(got.kernels[0].op + got.kernels[0].key + got.kernels[0].why_boxed, "aten::aCPUwhy");
  EXPECT_TRUE(got.kernels[0].typed);
  EXPECT_EQ(got.hits_typed, 11u);
  EXPECT_EQ(got.hits_boxed, 12u);
  ASSERT_EQ(got.pins.size(), 1u);
  EXPECT_EQ(got.pins[0].thread_id, 99);
  EXPECT_EQ(got.pins[0].holder, "aten::mm");
  EXPECT_EQ(got.pins[0].age_ns, 1234u);
  EXPECT_THAT(got.leases, ElementsAre(Pair("event", 3)));
  EXPECT_EQ(got.bytes_held, 4096u);
  EXPECT_THAT(got.pinned_dependencies, ElementsAre("libgomp.so.1"));
  EXPECT_THAT(got.warnings, ElementsAre("warned"));
  EXPECT_EQ(got.last_error, "erred");
  EXPECT_EQ(got.why_not_unloaded, "waits");
  EXPECT_EQ(got.age_ms, 55u);
  EXPECT_THAT(got.fallbacks, ElementsAre(Pair("aten::mm", 8)));
  EXPECT_THAT(list.available, ElementsAre("a"));
  EXPECT_EQ(list.calls.accepted, 10u);
  EXPECT_EQ(list.calls.completed, 5u);
  EXPECT_EQ(list.calls.failed, 2u);
  EXPECT_EQ(list.calls.cancelled, 1u);
  EXPECT_EQ(list.calls.in_flight, 2u);
  ASSERT_EQ(list.under_way.size(), 1u);
  EXPECT_EQ(list.under_way[0].what, "swap toy");
  EXPECT_EQ(list.under_way[0].age_ms, 9u);
}

TEST_F(AdminTest, ChangesTravelWithTheirOptions) {
  plugins_.change.set_slot("cpu");
  plugins_.change.set_old_generation(1);
  plugins_.change.set_new_generation(2);
  plugins_.change.set_publish_ns(3);
  plugins_.change.set_total_ns(4);
  plugins_.change.set_old_state("warm");
  plugins_.change.set_note("noted");
  plugins_.change.add_lost("aten::a at CPU");
  PluginChangeOptions options;
  options.allow_schema_change = options.allow_loss = options.allow_downgrade = true;
  options.probe = false;
  options.tensors = "fail";
  options.keep_warm = milliseconds(0);
  const PluginChange change = admin_->swap("cpu", "new", options);
  EXPECT_EQ(change.slot, "cpu");
  EXPECT_EQ(change.old_generation, 1u);
  EXPECT_EQ(change.new_generation, 2u);
  EXPECT_EQ(change.publish_ns, 3u);
  EXPECT_EQ(change.total_ns, 4u);
  EXPECT_EQ(change.old_state, "warm");
  EXPECT_EQ(change.note, "noted");
  EXPECT_THAT(change.lost, ElementsAre("aten::a at CPU"));
  EXPECT_TRUE(plugins_.options.allow_schema_change());
  EXPECT_TRUE(plugins_.options.allow_loss());
  EXPECT_TRUE(plugins_.options.allow_downgrade());
  EXPECT_TRUE(plugins_.options.no_probe());
  EXPECT_EQ(plugins_.options.tensors(), "fail");
  EXPECT_TRUE(plugins_.options.has_keep_warm_ms());
  EXPECT_EQ(plugins_.options.keep_warm_ms(), 0u);
  admin_->load("a", {});
  EXPECT_FALSE(plugins_.options.no_probe());
  EXPECT_FALSE(plugins_.options.has_keep_warm_ms());
  EXPECT_FALSE(plugins_.options.allow_loss());
  admin_->unload("cpu", {});
  admin_->rollback("cpu", {});
  EXPECT_EQ(admin_->diff("cpu", "b").at(0).needs, "--allow-loss");
  EXPECT_EQ(admin_->count_hits("", milliseconds(12)).counted_ns, 7u);
  EXPECT_THAT(plugins_.asked, ElementsAre("swap cpu new", "load a", "unload cpu", "rollback cpu",
                                          "diff cpu b", "count 12"));
}

TEST_F(AdminTest, TheDaemonsWordsAreKept) {
  v1::StatusDetails details;
  details.set_code(9);
  plugins_.status = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "2 kernels would go",
                                 details.SerializeAsString());
  const Error error = error_of([&] { admin_->swap("cpu", "", {}); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_EQ(error.message(), "2 kernels would go");
}

TEST_F(AdminTest, ADeadlineSaysThatTheChangeMayGoOn) {
  plugins_.hang = true;
  const auto impatient = make_grpc_admin(address_, milliseconds(100));
  const Error error = error_of([&] { impatient->swap("cpu", "", {}); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(error.message(), HasSubstr("goes on: look with opyard plugin list"));
}

TEST(AdminAddress, WhoIsNotThereIsNamed) {
  const auto admin = make_grpc_admin("unix:/tmp/opyard-nobody/s", milliseconds(5000));
  const Error error = error_of([&] { admin->list("", false); });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), HasSubstr("unix:/tmp/opyard-nobody/s"));
  EXPECT_THAT(error.message(), HasSubstr("OPYARD_ADMIN_ADDRESS"));
}

TEST(AdminAddress, BelongsToTheDaemons) {
  unsetenv("OPYARD_ADMIN_ADDRESS");
  EXPECT_EQ(default_admin_address("unix:/run/s"), "unix:/run/s.admin");
  EXPECT_EQ(error_of([] { default_admin_address("localhost:7070"); }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { make_grpc_admin("localhost:7070", milliseconds(1)); }).code(),
            Code::kInvalidArgument);
  setenv("OPYARD_ADMIN_ADDRESS", "unix:/other", 1);
  EXPECT_EQ(default_admin_address("localhost:7070"), "unix:/other");
  unsetenv("OPYARD_ADMIN_ADDRESS");
}

}  // namespace
}  // namespace opyard::client
