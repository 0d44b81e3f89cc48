// Operators, schemas, routing.
#include <gmock/gmock.h>

#include "opyard/dispatch/dispatcher.h"
#include "tests/unit/daemon/rpc_fixture.h"

namespace opyard::daemon {
namespace {

using ::testing::HasSubstr;

class RegistryRpcTest : public RpcTest {};

TEST_F(RegistryRpcTest, ListsInPages) {
  v1::ListOpsRequest request;
  request.set_prefix("test::");
  request.set_page_size(5);
  std::vector<std::string> names;
  v1::ListOpsReply reply;
  do {
    ASSERT_TRUE(registry_->ListOps(context("").get(), request, &reply).ok());
    for (const v1::OpSchema& op : reply.ops()) {
      names.push_back(op.name());
      EXPECT_TRUE(op.text().empty()) << "schemas were not asked for";
    }
    request.set_page_token(reply.next_page_token());
  } while (!reply.next_page_token().empty());
  EXPECT_EQ(names.size(), reply.total());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  request.set_page_token("zzz");
  EXPECT_EQ(registry_->ListOps(context("").get(), request, &reply).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RegistryRpcTest, SchemasByName) {
  v1::GetSchemaRequest request;
  request.set_op("test::scale");
  v1::GetSchemaReply reply;
  ASSERT_TRUE(registry_->GetSchema(context("").get(), request, &reply).ok());
  ASSERT_EQ(reply.schemas_size(), 1);
  EXPECT_EQ(reply.schemas(0).text(),
            "test::scale(Tensor x, Scalar by=2, *, str mode=\"plain\") -> Tensor");
  EXPECT_EQ(reply.schemas(0).arguments(1).type(), "Scalar");
  request.set_op("test::scael");
  const grpc::Status status = registry_->GetSchema(context("").get(), request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("test::scale"));
  EXPECT_EQ(info_of(status).reason(), "UNKNOWN_OP");
}

TEST_F(RegistryRpcTest, ExplainByKeysAndByValues) {
  v1::ExplainRequest request;
  request.set_op("test::twice");
  request.add_keys("CPU");
  v1::ExplainReply by_keys;
  ASSERT_TRUE(registry_->Explain(context("").get(), request, &by_keys).ok());
  EXPECT_THAT(by_keys.text(), HasSubstr("test::twice"));
  EXPECT_GT(by_keys.steps_size(), 0);
  put(1, {1});
  request.clear_keys();
  request.add_args()->set_id(1);
  v1::ExplainReply by_values;
  const grpc::Status status = registry_->Explain(context().get(), request, &by_values);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(by_values.chosen().empty());
  EXPECT_EQ(registry_->Explain(context("").get(), request, &by_values).error_code(),
            grpc::StatusCode::NOT_FOUND)
      << "without the session there is no such value";
  request.clear_args();
  request.add_keys("Nonsense");
  EXPECT_EQ(registry_->Explain(context("").get(), request, &by_keys).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

// What the library says, field by field.
void expect_same(const Explanation& wanted, const v1::ExplainReply& got) {
  const auto names = [](KeySet keys) {
    std::vector<std::string> list;
    for (const DispatchKey key : keys.keys()) list.push_back(to_string(key));
    return list;
  };
  const auto texts = [](const auto& field) {
    return std::vector<std::string>(field.begin(), field.end());
  };
  EXPECT_EQ(got.text(), to_string(wanted));
  EXPECT_EQ(got.op(), wanted.op);
  EXPECT_EQ(got.schema(), wanted.schema);
  EXPECT_EQ(texts(got.arguments()), names(wanted.arguments));
  EXPECT_EQ(texts(got.included()), names(wanted.included));
  EXPECT_EQ(texts(got.excluded()), names(wanted.excluded));
  EXPECT_EQ(texts(got.fallthrough()), names(wanted.fallthrough));
  EXPECT_EQ(texts(got.remaining()), names(wanted.keys));
  EXPECT_EQ(got.chosen(), wanted.fails ? "" : to_string(wanted.chosen));
  EXPECT_EQ(got.fails(), wanted.fails);
  ASSERT_EQ(got.steps_size(), static_cast<int>(wanted.trail.size()));
  for (int i = 0; i < got.steps_size(); ++i) {
    const v1::ExplainStep& step = got.steps(i);
    const Hop& hop = wanted.trail[static_cast<size_t>(i)];
    EXPECT_EQ(step.op(), hop.op);
    EXPECT_EQ(step.key(), to_string(hop.key));
    EXPECT_EQ(step.kernel(), hop.kernel);
    EXPECT_EQ(step.rule(), hop.reason);
    EXPECT_EQ(step.source(), hop.plugin);
    EXPECT_EQ(step.generation(), hop.generation);
    EXPECT_EQ(step.place(), hop.place);
  }
}

TEST_F(RegistryRpcTest, ExplainSaysWhatTheLibrarySays) {
  const Dispatcher& dispatcher = Dispatcher::global();
  const std::vector<std::vector<std::string>> key_sets = {
      {"CPU"},
      {"CPU", "AutogradCPU", "ADInplaceOrView", "AutocastCPU"},
      {"CUDA"},
      {"Meta"},
      {"SparseCPU", "AutogradCPU"},
      {"BackendSelect"}};
  for (const std::string op : {"test::twice", "test::scale", "aten::add.Tensor",
                               "aten::add_.Tensor", "aten::zeros", "aten::mm"}) {
    for (const auto& keys : key_sets) {
      v1::ExplainRequest request;
      request.set_op(op);
      KeySet set;
      for (const std::string& key : keys) {
        request.add_keys(key);
        set = set | KeySet(parse_dispatch_key(key));
      }
      v1::ExplainReply reply;
      ASSERT_TRUE(registry_->Explain(context("").get(), request, &reply).ok());
      expect_same(dispatcher.explain(dispatcher.get(op), set), reply);
    }
  }
}

TEST_F(RegistryRpcTest, InvariantsHold) {
  v1::CheckInvariantsReply reply;
  ASSERT_TRUE(registry_->CheckInvariants(context("").get(), {}, &reply).ok());
  EXPECT_GT(reply.operators(), 100u);
  EXPECT_THAT(reply.text(), HasSubstr(std::to_string(reply.operators()) + " operators"));
}

OperatorHandle twice() { return Dispatcher::global().get("test::twice"); }

TEST_F(RegistryRpcTest, Tables) {
  v1::DumpTableRequest request;
  request.set_op("test::twice");
  v1::DumpTableReply reply;
  ASSERT_TRUE(registry_->DumpTable(context("").get(), request, &reply).ok());
  EXPECT_EQ(reply.rows_size(), 138);
  EXPECT_EQ(reply.text(), Dispatcher::global().dump_computed_table(twice()));
  request.set_kind(v1::DumpTableRequest::REGISTRATIONS);
  ASSERT_TRUE(registry_->DumpTable(context("").get(), request, &reply).ok());
  EXPECT_EQ(reply.text(), Dispatcher::global().dump_state("test::twice"));
  request.set_kind(v1::DumpTableRequest::FOLDED);
  request.set_width(80);
  ASSERT_TRUE(registry_->DumpTable(context("").get(), request, &reply).ok());
  EXPECT_LT(reply.rows_size(), 10);
  int keys = 0;
  for (const v1::ExplainStep& row : reply.rows()) keys += row.keys_size();
  EXPECT_EQ(keys, 138);
  EXPECT_THAT(reply.text(), HasSubstr("all others"));
  request.set_kind(static_cast<v1::DumpTableRequest::Kind>(9));
  EXPECT_EQ(registry_->DumpTable(context("").get(), request, &reply).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.set_kind(v1::DumpTableRequest::FOLDED);
  request.set_op("nothing");
  EXPECT_EQ(registry_->DumpTable(context("").get(), request, &reply).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace opyard::daemon
