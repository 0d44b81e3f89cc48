// The operator's service over a real socket, with plugins that are made up.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/v1/plugins.grpc.pb.h"
#include "rpc/admin_server.h"
#include "tests/unit/daemon/rpc_fixture.h"
#include "tests/unit/daemon/temporary_directory.h"

namespace opyard::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Plugins that do what the test says.
class FakeControl final : public runtime::PluginControl {
 public:
  using Change = std::function<plugin::ChangeReport(const plugin::ChangeOptions&)>;

  plugin::ChangeReport load_plugin(std::string_view name,
                                   const plugin::ChangeOptions& options) override {
    return note(str_cat("load ", name), options);
  }
  plugin::ChangeReport swap_plugin(std::string_view slot, std::string_view name,
                                   const plugin::ChangeOptions& options) override {
    return note(str_cat("swap ", slot, " ", name), options);
  }
  plugin::ChangeReport unload_plugin(std::string_view slot,
                                     const plugin::ChangeOptions& options) override {
    return note(str_cat("unload ", slot), options);
  }
  plugin::ChangeReport rollback_plugin(std::string_view slot,
                                       const plugin::ChangeOptions& options) override {
    return note(str_cat("rollback ", slot), options);
  }
  std::vector<plugin::Difference> diff_plugin(std::string_view slot,
                                              std::string_view name) override {
    note(str_cat("diff ", slot, " ", name), {});
    return {{plugin::Difference::Kind::kFlags, "version", "1.0", "1.1", "--allow-loss"}};
  }
  std::vector<plugin::SlotInfo> plugin_slots() const override {
    const std::lock_guard lock(mutex_);
    return slots_;
  }
  void count_plugin_hits(bool on) override {
    const std::lock_guard lock(mutex_);
    switches_.push_back(on);
  }
  std::vector<std::string> available_plugins() const override { return {"a", "b"}; }
  runtime::CallTotals call_totals() const override { return {10, 5, 2, 1}; }

  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::vector<bool> switches() const {
    const std::lock_guard lock(mutex_);
    return switches_;
  }

  // Of the last change.
  plugin::ChangeOptions options() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }
  void set_change(Change change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }
  void set_slots(std::vector<plugin::SlotInfo> slots) {
    const std::lock_guard lock(mutex_);
    slots_ = std::move(slots);
  }

 private:
  plugin::ChangeReport note(const std::string& what, const plugin::ChangeOptions& options) {
    Change change;
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(what);
      options_ = options;
      change = change_;
    }
    return change(options);
  }

  mutable std::mutex mutex_;  // guards all below
  Change change_ = [](const plugin::ChangeOptions&) { return plugin::ChangeReport{}; };
  std::vector<plugin::SlotInfo> slots_;
  plugin::ChangeOptions options_;
  std::vector<std::string> asked_;
  std::vector<bool> switches_;
};

// Holds changes until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void await(int waiting) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= waiting; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

class PluginsRpcTest : public ::testing::Test {
 protected:
  PluginsRpcTest()
      : server_(std::make_unique<AdminServer>(control_, directory_.file("admin"), AcceptLimits{})),
        stub_(v1::Plugins::NewStub(
            grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()))) {}

  // Nobody may wait for ever in a change.
  ~PluginsRpcTest() override { gate_.open(); }

  void hold_changes() {
    control_.set_change([this](const plugin::ChangeOptions&) {
      gate_.pass();
      return plugin::ChangeReport{};
    });
  }

  static std::unique_ptr<grpc::ClientContext> context(int milliseconds = 20'000) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::milliseconds(milliseconds));
    return context;
  }

  grpc::Status swap(const std::string& slot, int milliseconds = 20'000) {
    v1::SwapPluginRequest request;
    request.set_slot(slot);
    v1::ChangePluginReply reply;
    return stub_->Swap(context(milliseconds).get(), request, &reply);
  }

  v1::ListPluginsReply list(const v1::ListPluginsRequest& request = {}) {
    v1::ListPluginsReply reply;
    const grpc::Status status = stub_->List(context().get(), request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }

  grpc::Status count(uint32_t milliseconds, v1::ListPluginsReply* reply) {
    v1::CountHitsRequest request;
    request.set_milliseconds(milliseconds);
    return stub_->CountHits(context().get(), request, reply);
  }

  TemporaryDirectory directory_;
  Gate gate_;
  FakeControl control_;
  std::unique_ptr<AdminServer> server_;
  std::unique_ptr<v1::Plugins::Stub> stub_;
};

plugin::SlotInfo full_slot() {
  plugin::GenerationInfo one;
  one.number = 7;
  one.state = plugin::State::kActive;
  one.file = "file";
  one.path = "path";
  one.hash = "hash";
  one.version = "1.2.3";
  one.abi = "1.0";
  one.fingerprint = "print";
  one.same_build = true;
  one.probe = "passed";
  one.kernels = {{"aten::a", "CPU", true, ""},
                 {"aten::b", "CPU", false, "other build"},
                 {"aten::c", "CPU", false, "other build"},
                 {"_", "CPU", false, "in C"}};
  one.hits_typed = 11;
  one.hits_boxed = 12;
  one.pins = {{99, "aten::mm", 1234}};
  one.leases[static_cast<size_t>(plugin::LeaseKind::kEvent)] = 3;
  one.bytes_held = 4096;
  one.pinned_dependencies = {"libgomp.so.1"};
  one.warnings = {"warned"};
  one.last_error = "erred";
  one.why_not_unloaded = "waits";
  one.age_ms = 55;
  one.fallbacks = {{"aten::mm", 8}};
  plugin::SlotInfo slot;
  slot.name = "toy";
  slot.device = "toy";
  slot.backend = "PrivateUse1";
  slot.active = 7;
  slot.changes = 4;
  slot.refused = 2;
  slot.generations = {one};
  return slot;
}

TEST_F(PluginsRpcTest, ListTellsAllThereIs) {
  const plugin::SlotInfo made = full_slot();
  control_.set_slots({made});
  v1::ListPluginsRequest request;
  request.set_with_kernels(true);
  const v1::ListPluginsReply reply = list(request);
  ASSERT_EQ(reply.slots_size(), 1);
  const v1::PluginSlot& slot = reply.slots(0);
  EXPECT_EQ(slot.name(), "toy");
  EXPECT_EQ(slot.device(), "toy");
  EXPECT_EQ(slot.backend(), "PrivateUse1");
  EXPECT_EQ(slot.active(), 7u);
  EXPECT_EQ(slot.changes(), 4u);
  EXPECT_EQ(slot.refused(), 2u);
  ASSERT_EQ(slot.generations_size(), 1);
  v1::PluginGeneration wanted;
  wanted.set_number(7);
  wanted.set_state("active");
  wanted.set_file("file");
  wanted.set_path("path");
  wanted.set_hash("hash");
  wanted.set_version("1.2.3");
  wanted.set_abi("1.0");
  wanted.set_fingerprint("print");
  wanted.set_same_build(true);
  wanted.set_probe("passed");
  wanted.set_typed_kernels(1);
  wanted.set_boxed_kernels(3);
  const auto counted = [](auto* out, const char* text, uint64_t count) {
    out->set_text(text);
    out->set_count(count);
  };
  counted(wanted.add_why_boxed(), "in C", 1);
  counted(wanted.add_why_boxed(), "other build", 2);
  for (const plugin::KernelInfo& kernel : made.generations[0].kernels) {
    v1::PluginKernel* out = wanted.add_kernels();
    out->set_op(kernel.op);
    out->set_key(kernel.key);
    out->set_typed(kernel.typed);
    out->set_why_boxed(kernel.why_boxed);
  }
  wanted.set_hits_typed(11);
  wanted.set_hits_boxed(12);
  wanted.add_pins()->set_thread_id(99);
  wanted.mutable_pins(0)->set_holder("aten::mm");
  wanted.mutable_pins(0)->set_age_ns(1234);
  counted(wanted.add_leases(), "event", 3);
  wanted.set_bytes_held(4096);
  wanted.add_pinned_dependencies("libgomp.so.1");
  wanted.add_warnings("warned");
  wanted.set_last_error("erred");
  wanted.set_why_not_unloaded("waits");
  wanted.set_age_ms(55);
  counted(wanted.add_fallbacks(), "aten::mm", 8);
  EXPECT_EQ(slot.generations(0).DebugString(), wanted.DebugString());
  EXPECT_THAT(reply.available(), ElementsAre("a", "b"));
  EXPECT_EQ(reply.calls().accepted(), 10u);
  EXPECT_EQ(reply.calls().completed(), 5u);
  EXPECT_EQ(reply.calls().failed(), 2u);
  EXPECT_EQ(reply.calls().cancelled(), 1u);
  EXPECT_EQ(reply.calls().in_flight(), 2u);
  EXPECT_EQ(list().slots(0).generations(0).kernels_size(), 0) << "only when asked for";
  EXPECT_EQ(list().slots(0).generations(0).boxed_kernels(), 3u);
}

TEST_F(PluginsRpcTest, ListOfOneSlot) {
  plugin::SlotInfo other;
  other.name = "cpu";
  control_.set_slots({full_slot(), other});
  v1::ListPluginsRequest request;
  request.set_slot("cpu");
  const v1::ListPluginsReply reply = list(request);
  ASSERT_EQ(reply.slots_size(), 1);
  EXPECT_EQ(reply.slots(0).name(), "cpu");
  request.set_slot("nothing");
  v1::ListPluginsReply none;
  EXPECT_EQ(stub_->List(context().get(), request, &none).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(PluginsRpcTest, AChangeIsAskedForAndReported) {
  control_.set_change([](const plugin::ChangeOptions&) {
    plugin::ChangeReport report;
    report.slot = "cpu";
    report.old_generation = 1;
    report.new_generation = 2;
    report.publish_ns = 38'000;
    report.total_ns = 5'000'000;
    report.old_state = plugin::State::kWarm;
    report.note = "noted";
    report.lost = {"aten::a at CPU"};
    return report;
  });
  v1::SwapPluginRequest request;
  request.set_slot("cpu");
  request.set_name("new");
  v1::ChangeOptions* options = request.mutable_options();
  options->set_allow_schema_change(true);
  options->set_allow_loss(true);
  options->set_allow_downgrade(true);
  options->set_no_probe(true);
  options->set_tensors("share");
  options->set_keep_warm_ms(0);
  v1::ChangePluginReply reply;
  ASSERT_TRUE(stub_->Swap(context().get(), request, &reply).ok());
  EXPECT_EQ(reply.slot(), "cpu");
  EXPECT_EQ(reply.old_generation(), 1u);
  EXPECT_EQ(reply.new_generation(), 2u);
  EXPECT_EQ(reply.publish_ns(), 38'000u);
  EXPECT_EQ(reply.total_ns(), 5'000'000u);
  EXPECT_EQ(reply.old_state(), "warm");
  EXPECT_EQ(reply.note(), "noted");
  EXPECT_THAT(reply.lost(), ElementsAre("aten::a at CPU"));
  EXPECT_TRUE(control_.options().allow_schema_change);
  EXPECT_TRUE(control_.options().allow_loss);
  EXPECT_TRUE(control_.options().allow_downgrade);
  EXPECT_FALSE(control_.options().probe);
  EXPECT_EQ(control_.options().tensors, plugin::TensorPolicy::kShare);
  EXPECT_EQ(control_.options().keep_warm, std::chrono::milliseconds(0));
}

TEST_F(PluginsRpcTest, EachCallDoesWhatItSays) {
  v1::ChangePluginReply reply;
  v1::LoadPluginRequest load;
  load.set_name("a");
  EXPECT_TRUE(stub_->Load(context().get(), load, &reply).ok());
  EXPECT_TRUE(control_.options().probe);
  EXPECT_FALSE(control_.options().allow_loss);
  EXPECT_FALSE(control_.options().keep_warm.has_value());
  EXPECT_TRUE(swap("cpu").ok()) << "the slot's own name is the default";
  v1::UnloadPluginRequest unload;
  unload.set_slot("cpu");
  unload.mutable_options()->set_tensors("fail");
  EXPECT_TRUE(stub_->Unload(context().get(), unload, &reply).ok());
  EXPECT_EQ(control_.options().tensors, plugin::TensorPolicy::kFail);
  v1::RollbackPluginRequest rollback;
  rollback.set_slot("cpu");
  EXPECT_TRUE(stub_->Rollback(context().get(), rollback, &reply).ok());
  v1::DiffPluginRequest diff;
  diff.set_slot("cpu");
  diff.set_name("b");
  v1::DiffPluginReply differences;
  ASSERT_TRUE(stub_->Diff(context().get(), diff, &differences).ok());
  ASSERT_EQ(differences.differences_size(), 1);
  EXPECT_EQ(differences.differences(0).kind(), plugin::to_string(plugin::Difference::Kind::kFlags));
  EXPECT_EQ(differences.differences(0).what(), "version");
  EXPECT_EQ(differences.differences(0).before(), "1.0");
  EXPECT_EQ(differences.differences(0).after(), "1.1");
  EXPECT_EQ(differences.differences(0).needs(), "--allow-loss");
  EXPECT_THAT(control_.asked(),
              ElementsAre("load a", "swap cpu cpu", "unload cpu", "rollback cpu", "diff cpu b"));
}

TEST_F(PluginsRpcTest, ErrorsKeepTheirCodeAndText) {
  control_.set_change([](const plugin::ChangeOptions&) -> plugin::ChangeReport {
    raise(Code::kFailedPrecondition, "2 kernels would go; --allow-loss allows it");
  });
  const grpc::Status status = swap("cpu");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "2 kernels would go; --allow-loss allows it");
  EXPECT_FALSE(status.error_details().empty());
  control_.set_change([](const plugin::ChangeOptions&) -> plugin::ChangeReport {
    throw std::runtime_error("unexpected");
  });
  EXPECT_EQ(swap("cpu").error_code(), grpc::StatusCode::INTERNAL);
}

TEST_F(PluginsRpcTest, WhatCannotBeMeantIsRefused) {
  const auto code_of = [this](const v1::SwapPluginRequest& request) {
    v1::ChangePluginReply reply;
    return stub_->Swap(context().get(), request, &reply).error_code();
  };
  v1::SwapPluginRequest request;
  EXPECT_EQ(code_of(request), grpc::StatusCode::INVALID_ARGUMENT) << "no slot";
  request.set_slot(std::string(257, 'x'));
  EXPECT_EQ(code_of(request), grpc::StatusCode::INVALID_ARGUMENT) << "too long";
  request.set_slot("cpu");
  request.mutable_options()->set_tensors("melt");
  EXPECT_EQ(code_of(request), grpc::StatusCode::INVALID_ARGUMENT) << "policy";
  request.mutable_options()->clear_tensors();
  request.mutable_options()->set_keep_warm_ms(~uint64_t{0});
  EXPECT_EQ(code_of(request), grpc::StatusCode::INVALID_ARGUMENT) << "for ever";
  v1::ListPluginsReply reply;
  EXPECT_EQ(count(0, &reply).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(count(60'001, &reply).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(control_.asked(), IsEmpty());
}

TEST_F(PluginsRpcTest, OneChangeOfASlotAtATime) {
  hold_changes();
  auto first = std::async(std::launch::async, [this] { return swap("cpu"); });
  gate_.await(1);
  const grpc::Status second = swap("cpu");
  EXPECT_EQ(second.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_THAT(second.error_message(), HasSubstr("'swap cpu' has been under way"));
  auto other = std::async(std::launch::async, [this] { return swap("toy"); });
  gate_.await(2);
  const v1::ListPluginsReply reply = list();
  ASSERT_EQ(reply.under_way_size(), 2) << "and list goes on while both wait";
  EXPECT_EQ(reply.under_way(0).what(), "swap cpu");
  EXPECT_EQ(reply.under_way(1).what(), "swap toy");
  gate_.open();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(other.get().ok());
  EXPECT_EQ(list().under_way_size(), 0) << "what is answered is over";
  EXPECT_TRUE(swap("cpu").ok());
}

TEST_F(PluginsRpcTest, AHangEndsNeitherTheCallNorTheServer) {
  hold_changes();
  EXPECT_EQ(swap("cpu", 300).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  gate_.await(1);
  EXPECT_EQ(list().under_way_size(), 1) << "it goes on";
  EXPECT_FALSE(server_->drain(std::chrono::milliseconds(0)));
  ASSERT_EQ(server_->under_way().size(), 1u);
  EXPECT_EQ(server_->under_way()[0].name, "swap cpu");
  gate_.open();
  server_.reset();  // waits for it
}

TEST_F(PluginsRpcTest, ADrainedServerBeginsNothing) {
  hold_changes();
  auto first = std::async(std::launch::async, [this] { return swap("cpu"); });
  gate_.await(1);
  server_->refuse_new();
  EXPECT_EQ(swap("toy").error_code(), grpc::StatusCode::UNAVAILABLE);
  auto drained =
      std::async(std::launch::async, [this] { return server_->drain(std::chrono::seconds(20)); });
  gate_.open();
  EXPECT_TRUE(first.get().ok()) << "what is under way is answered";
  EXPECT_TRUE(drained.get());
}

TEST_F(PluginsRpcTest, ChangesAreBounded) {
  hold_changes();
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < 32; ++i) {
    calls.push_back(std::async(std::launch::async, [this, i] { return swap(str_cat("s", i)); }));
  }
  gate_.await(32);
  EXPECT_EQ(swap("more").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  gate_.open();
  for (auto& call : calls) EXPECT_TRUE(call.get().ok());
}

TEST_F(PluginsRpcTest, HitsAreThoseOfTheTime) {
  control_.set_slots({full_slot()});
  v1::ListPluginsReply first;
  auto counting = std::async(std::launch::async, [&] { return count(60'000, &first); });
  ASSERT_TRUE(eventually([this] { return !control_.switches().empty(); }));
  v1::ListPluginsReply second;
  ASSERT_TRUE(count(1, &second).ok());
  EXPECT_THAT(control_.switches(), ElementsAre(true)) << "the first still counts";
  EXPECT_EQ(second.slots(0).generations(0).hits_typed(), 0u);
  plugin::SlotInfo later = full_slot();
  later.generations[0].hits_typed += 5;
  plugin::GenerationInfo next;
  next.number = 8;
  next.hits_boxed = 3;
  later.generations.push_back(next);
  control_.set_slots({later});
  server_->refuse_new();  // ends the count
  ASSERT_TRUE(counting.get().ok());
  EXPECT_EQ(first.slots(0).generations(0).hits_typed(), 5u);
  EXPECT_EQ(first.slots(0).generations(0).hits_boxed(), 0u);
  EXPECT_EQ(first.slots(0).generations(1).hits_boxed(), 3u) << "came in between";
  EXPECT_GT(first.counted_ns(), 0u);
  EXPECT_THAT(control_.switches(), ElementsAre(true, false));
}

TEST_F(PluginsRpcTest, WhoLeavesCountsNoLonger) {
  v1::CountHitsRequest request;
  request.set_milliseconds(60'000);
  v1::ListPluginsReply reply;
  const auto context = this->context();
  auto counting = std::async(std::launch::async,
                             [&] { return stub_->CountHits(context.get(), request, &reply); });
  ASSERT_TRUE(eventually([this] { return !control_.switches().empty(); }));
  context->TryCancel();
  EXPECT_EQ(counting.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(eventually([this] { return control_.switches().size() == 2; }));
}

}  // namespace
}  // namespace opyard::daemon
