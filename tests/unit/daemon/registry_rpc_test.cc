// Operators, schemas, routing.
#include <gmock/gmock.h>

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

TEST_F(RegistryRpcTest, Tables) {
  v1::DumpTableRequest request;
  request.set_op("test::twice");
  v1::DumpTableReply reply;
  ASSERT_TRUE(registry_->DumpTable(context("").get(), request, &reply).ok());
  EXPECT_EQ(reply.rows_size(), 138);
  request.set_op("nothing");
  EXPECT_EQ(registry_->DumpTable(context("").get(), request, &reply).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace opyard::daemon
