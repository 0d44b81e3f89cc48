// Uploads and downloads, whole and broken.
#include <gmock/gmock.h>

#include "opyard/runtime/limits.h"
#include "tests/unit/daemon/rpc_fixture.h"

namespace opyard::daemon {
namespace {

using runtime::kLimits;
using ::testing::ElementsAre;

class TensorsRpcTest : public RpcTest {
 protected:
  // Sends the requests as one upload.
  grpc::Status upload(const std::vector<v1::PutRequest>& requests, v1::PutReply* reply) {
    const auto context = this->context();
    const auto writer = tensors_->Put(context.get(), reply);
    for (const v1::PutRequest& request : requests) {
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  grpc::StatusCode upload_code(const std::vector<v1::PutRequest>& requests) {
    v1::PutReply reply;
    return upload(requests, &reply).error_code();
  }
  static v1::PutRequest head(uint64_t id, const std::string& dtype,
                             const std::vector<int64_t>& sizes, uint64_t bytes) {
    v1::PutRequest request;
    v1::PutHeader* header = request.mutable_header();
    header->set_id(id);
    header->set_dtype(dtype);
    for (const int64_t size : sizes) header->add_sizes(size);
    header->set_total_bytes(bytes);
    return request;
  }
  static v1::PutRequest chunk(std::string bytes) {
    v1::PutRequest request;
    request.set_data(std::move(bytes));
    return request;
  }
  // The bytes of a download, and its status.
  std::pair<std::string, grpc::Status> download(uint64_t id, uint64_t offset, uint64_t length) {
    v1::GetRequest request;
    request.set_id(id);
    request.set_offset(offset);
    request.set_length(length);
    const auto context = this->context();
    const auto reader = tensors_->Get(context.get(), request);
    std::string bytes;
    v1::GetReply reply;
    bool first = true;
    while (reader->Read(&reply)) {
      EXPECT_EQ(reply.has_meta(), first);
      EXPECT_LE(reply.data().size(), kLimits.chunk_bytes);
      bytes += reply.data();
      first = false;
    }
    return {bytes, reader->Finish()};
  }
};

TEST_F(TensorsRpcTest, LargeTensorsGoBothWays) {
  std::string bytes;
  for (size_t i = 0; i < (5u << 20); ++i) bytes += static_cast<char>(i * 2654435761u >> 13);
  std::vector<v1::PutRequest> requests = {head(1, "uint8", {5, 1 << 20}, bytes.size())};
  for (size_t at = 0; at < bytes.size(); at += 700000) {
    requests.push_back(chunk(bytes.substr(at, 700000)));
  }
  v1::PutReply reply;
  ASSERT_TRUE(upload(requests, &reply).ok());
  EXPECT_EQ(reply.meta().id(), 1u);
  EXPECT_EQ(reply.meta().bytes(), bytes.size());
  const auto [whole, status] = download(1, 0, 0);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(whole, bytes);
  const auto [part, part_status] = download(1, 1000001, 2000003);
  EXPECT_TRUE(part_status.ok());
  EXPECT_EQ(part, bytes.substr(1000001, 2000003));
}

TEST_F(TensorsRpcTest, EmptyTensorsAndDataInTheHeader) {
  EXPECT_EQ(upload_code({head(1, "float32", {0, 3}, 0)}), grpc::StatusCode::OK);
  const auto [none, status] = download(1, 0, 0);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(none.empty());
  v1::PutRequest both = head(2, "float32", {}, 4);
  both.set_data(std::string(4, '\0'));
  EXPECT_EQ(upload_code({both}), grpc::StatusCode::OK);
  EXPECT_THAT(get(2), ElementsAre(0));
}

TEST_F(TensorsRpcTest, BrokenUploadsPoisonTheirIds) {
  const std::string four(4, 'x');
  using Code = grpc::StatusCode;
  const struct {
    std::vector<v1::PutRequest> requests;
    Code code;
  } cases[] = {
      {{}, Code::INVALID_ARGUMENT},
      {{chunk(four)}, Code::INVALID_ARGUMENT},
      {{head(10, "float32", {2}, 8), chunk(four)}, Code::DATA_LOSS},
      {{head(11, "float32", {1}, 4), chunk(four), chunk("y")}, Code::INVALID_ARGUMENT},
      {{head(12, "float32", {2}, 4), chunk(four)}, Code::INVALID_ARGUMENT},
      {{head(13, "float32", {-1}, 4), chunk(four)}, Code::INVALID_ARGUMENT},
      {{head(14, "float33", {1}, 4), chunk(four)}, Code::INVALID_ARGUMENT},
      {{head(15, "float32", {1}, 4), head(16, "float32", {1}, 4)}, Code::INVALID_ARGUMENT},
      {{head(17, "uint8", {2 << 20}, 2 << 20), chunk(std::string(kLimits.chunk_bytes + 1, 'x'))},
       Code::INVALID_ARGUMENT},
      {{head(18, "float32", std::vector<int64_t>(65, 1), 4), chunk(four)}, Code::INVALID_ARGUMENT},
      {{head(19, "float32", {int64_t{1} << 62, 4}, 0)}, Code::INVALID_ARGUMENT},
      {{head(20, "float32", {int64_t{1} << 50}, uint64_t{4} << 50)}, Code::RESOURCE_EXHAUSTED},
      {{head(uint64_t{1} << 48 | 1, "float32", {1}, 4), chunk(four)}, Code::INVALID_ARGUMENT},
      {{head(0, "float32", {1}, 4), chunk(four)}, Code::INVALID_ARGUMENT},
  };
  for (const auto& one : cases) {
    v1::PutReply reply;
    const grpc::Status status = upload(one.requests, &reply);
    EXPECT_EQ(status.error_code(), one.code) << status.error_message();
  }
  for (uint64_t id = 10; id <= 20; ++id) {
    EXPECT_EQ(download(id, 0, 0).second.error_code(),
              id == 16 ? Code::NOT_FOUND : Code::FAILED_PRECONDITION)
        << id;
  }
  const v1::Cause cause = info_of(download(10, 0, 0).second).cause();
  EXPECT_EQ(cause.code(), static_cast<int>(Code::DATA_LOSS));
  EXPECT_THAT(cause.message(), ::testing::HasSubstr("after 4 of 8 bytes"));
  v1::OpFrame frame;
  add_op(&frame, 1, "test::twice", {11}, {100});
  const v1::OpReply reply = call(frame);
  ASSERT_EQ(reply.errors_size(), 1);
  EXPECT_EQ(reply.errors(0).code(), static_cast<int>(Code::FAILED_PRECONDITION));
  EXPECT_EQ(upload_code({head(10, "float32", {1}, 4), chunk(four)}),
            grpc::StatusCode::ALREADY_EXISTS)
      << "an id is used once, whatever came of it";
  v1::CloseSessionRequest close;
  close.set_token(token_);
  v1::CloseSessionReply closed;
  ASSERT_TRUE(control_->CloseSession(context("").get(), close, &closed).ok());
  EXPECT_EQ(closed.freed_bytes(), 0u) << "no memory is held by broken uploads";
}

TEST_F(TensorsRpcTest, DownloadsThatCannotBe) {
  put(1, {1, 2});
  EXPECT_EQ(download(9, 0, 0).second.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(download(1, 9, 0).second.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(download(1, 4, 5).second.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(download(1, UINT64_MAX, 2).second.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  v1::OpFrame frame;
  add_op(&frame, 1, "test::refuse", {1}, {2});
  call(frame);
  const grpc::Status poisoned = download(2, 0, 0).second;
  EXPECT_EQ(poisoned.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(info_of(poisoned).cause().op(), "test::refuse");
}

TEST_F(TensorsRpcTest, DescribeAndRelease) {
  put(1, {1, 2});
  put(2, {3});
  v1::DescribeRequest describe;
  describe.add_ids(2);
  describe.add_ids(1);
  v1::DescribeReply described;
  ASSERT_TRUE(tensors_->Describe(context().get(), describe, &described).ok());
  ASSERT_EQ(described.tensors_size(), 2);
  EXPECT_EQ(described.tensors(1).id(), 1u);
  EXPECT_EQ(described.tensors(1).sizes(0), 2);
  v1::ReleaseRequest release;
  release.add_ids(1);
  release.add_ids(1);
  release.add_ids(77);
  v1::ReleaseReply released;
  ASSERT_TRUE(tensors_->Release(context().get(), release, &released).ok());
  EXPECT_EQ(released.released(), 1u);
  EXPECT_EQ(tensors_->Describe(context().get(), describe, &described).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(TensorsRpcTest, OtherSessionsSeeNothing) {
  put(1, {1});
  token_ = open_session();
  EXPECT_EQ(download(1, 0, 0).second.error_code(), grpc::StatusCode::NOT_FOUND);
}

class SmallQuotaTest : public TensorsRpcTest {};

TEST_F(SmallQuotaTest, TheQuotaIsCheckedBeforeTheUpload) {
  v1::OpenSessionRequest request;
  const int64_t bytes = 1000 + 2 * runtime::kHandleBytes;
  request.set_bytes(static_cast<uint64_t>(bytes));
  v1::OpenSessionReply opened;
  ASSERT_TRUE(control_->OpenSession(context("").get(), request, &opened).ok());
  token_ = opened.token();
  EXPECT_EQ(upload_code({head(1, "uint8", {bytes + 1}, static_cast<uint64_t>(bytes + 1))}),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(upload_code({head(2, "uint8", {1000}, 1000), chunk(std::string(1000, 'x'))}),
            grpc::StatusCode::OK);
}

}  // namespace
}  // namespace opyard::daemon
