#include "client/local/local_transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "client/cpp/client.h"
#include "client/cpp/elements.h"
#include "opyard/base/error.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard::client {
namespace {

HostTensor tensor(std::vector<int64_t> sizes, const std::vector<double>& values) {
  HostTensor out{"float32", std::move(sizes), {}, {}};
  for (const double value : values) {
    append_element(out.data, dtype_facts("float32"), {ElementKind::kReal, 0, value});
  }
  return out;
}

class LocalYard : public testing::Test {
 protected:
  Client yard_{make_local_transport()};
};

TEST_F(LocalYard, EveryKernelHasItsDefinitionAndEveryTableIsAsResolved) {
  const Dispatcher& all = Dispatcher::global();
  ASSERT_FALSE(all.list("aten::").empty());
  EXPECT_EQ(all.dangling_impls(), std::vector<std::string>{});
  all.check_invariants();
}

TEST_F(LocalYard, CallsAndKeeps) {
  const HostTensor x = tensor({2}, {-1, 2});
  const auto outputs = yard_.call("aten::add.Tensor", {x, 1.5}, {{"alpha", int64_t{2}}});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].tensors.at(0).data, tensor({2}, {2, 5}).data);
  const Id relu = yard_.run("aten::relu", {x});
  EXPECT_EQ(yard_.get(relu).data, tensor({2}, {0, 2}).data);
  EXPECT_EQ(yard_.describe(relu).strides, std::vector<int64_t>{1});
  yard_.release({relu});
  EXPECT_THROW(yard_.get(relu), Error);
}

TEST_F(LocalYard, ListsOfTensors) {
  const auto outputs =
      yard_.call("aten::cat", {Value::List{tensor({1}, {1}), tensor({2}, {2, 3})}});
  EXPECT_EQ(outputs.at(0).tensors.at(0).data, tensor({3}, {1, 2, 3}).data);
}

TEST_F(LocalYard, ErrorsLeaveTheRestIntact) {
  const Id kept = yard_.put(tensor({1}, {7}));
  try {
    yard_.call("aten::mm", {tensor({2}, {1, 2}), tensor({2}, {1, 2})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
  }
  EXPECT_THROW(yard_.call("aten::nothing_like_it", {}), Error);
  EXPECT_EQ(yard_.get(kept).data, tensor({1}, {7}).data);
}

TEST_F(LocalYard, SchemasAndTrails) {
  EXPECT_GE(yard_.transport().list_ops("aten::", true).size(), 45u);
  EXPECT_EQ(yard_.transport().get_schema("aten::add.Tensor").at(0).arguments.size(), 3u);
  const Trail by_keys = yard_.explain({"aten::add.Tensor", {"CPU"}, {}, {}, {}, {}});
  EXPECT_EQ(by_keys.chosen, "CPU");
  const Trail by_arguments =
      yard_.explain({"aten::add.Tensor", {}, {tensor({1}, {1}), tensor({1}, {2})}, {}, {}, {}});
  EXPECT_EQ(by_arguments.chosen, "AutogradCPU");
  EXPECT_EQ(by_arguments.op, "aten::add.Tensor");
  EXPECT_EQ(by_arguments.remaining.back(), "AutogradCPU");
  EXPECT_NE(by_arguments.steps.back().place.find("kernels/cpu/"), std::string::npos);
  EXPECT_EQ(yard_.transport().table("aten::add.Tensor", TableKind::kComputed, 0).rows.size(), 138u);
  EXPECT_LT(yard_.transport().table("aten::add.Tensor", TableKind::kFolded, 80).rows.size(), 10u);
  EXPECT_NE(yard_.transport().check_invariants().find("operators"), std::string::npos);
}

TEST_F(LocalYard, TracesItsOwnCalls) {
  const auto reader = yard_.transport().trace("aten::");
  yard_.call("aten::relu", {tensor({1}, {1})});
  reader->stop();
  yard_.call("aten::neg", {tensor({1}, {1})});
  std::vector<std::string> lines;
  for (TraceBatch batch; reader->read(&batch);) {
    for (const TraceLine& line : batch.lines) lines.push_back(line.text);
  }
  const std::vector<std::string> wanted = {" [callBoxed] op=[aten::relu], key=[AutogradCPU]",
                                           "  [redispatchBoxed] op=[aten::relu], key=[CPU]"};
  EXPECT_EQ(lines, wanted);
}

TEST_F(LocalYard, ACancelledTraceEndsItsReader) {
  const auto reader = yard_.transport().trace("");
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    reader->cancel();
  });
  TraceBatch batch;
  EXPECT_FALSE(reader->read(&batch));
  later.join();
}

}  // namespace
}  // namespace opyard::client
