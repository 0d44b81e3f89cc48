#include "rpc/upload.h"

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/runtime/limits.h"
#include "rpc/call_context.h"
#include "rpc/encode.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

class RefusedUpload final : public grpc::ServerReadReactor<v1::PutRequest> {
 public:
  explicit RefusedUpload(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerReadReactor<v1::PutRequest>* Upload::start(runtime::Sessions& sessions,
                                                       grpc::CallbackServerContext* context,
                                                       v1::PutReply* reply) {
  try {
    return new Upload(find_session(sessions, *context), reply);
  } catch (...) {
    return new RefusedUpload(current_status());
  }
}

Upload::Upload(runtime::SessionUse use, v1::PutReply* reply) : use_(std::move(use)), reply_(reply) {
  StartRead(&request_);
}

template <typename Step>
void Upload::in_session(Step step) {
  try {
    use_->run([this, step] {
      try {
        step();
      } catch (...) {
        if (id_taken_) use_->poison_upload(header_->id(), current_error());
        Finish(current_status());
      }
    });
  } catch (...) {
    Finish(current_status());
  }
}

void Upload::OnReadDone(bool ok) {
  if (ok && !header_) {
    in_session([this] {
      open_tensor();
      take_chunk();
      StartRead(&request_);
    });
    return;
  }
  if (ok) {
    try {
      OPYARD_CHECK(!request_.has_header(), kInvalidArgument,
                   "the upload has a second header; send one tensor per call");
      take_chunk();
    } catch (...) {
      return in_session([error = std::current_exception()] { std::rethrow_exception(error); });
    }
    return StartRead(&request_);
  }
  if (!header_) {
    return Finish(to_status(Error(Code::kInvalidArgument, "the upload has no header")));
  }
  in_session([this] {
    bind_tensor();
    Finish(grpc::Status::OK);
  });
}

void Upload::open_tensor() {
  OPYARD_CHECK(request_.has_header(), kInvalidArgument,
               "the first request of an upload must carry its header");
  header_ = request_.header();
  use_->calls().ids().take(header_->id());
  id_taken_ = true;
  use_->store().check_room(1);
  OPYARD_CHECK(static_cast<uint32_t>(header_->sizes_size()) <= runtime::kLimits.dims,
               kInvalidArgument, "the tensor has ", header_->sizes_size(), " dimensions, at most ",
               runtime::kLimits.dims, " are allowed");
  const std::vector<int64_t> sizes(header_->sizes().begin(), header_->sizes().end());
  tensor_ = use_->new_tensor(sizes, header_->dtype(), header_->device(), header_->total_bytes());
}

void Upload::take_chunk() {
  const std::string& data = request_.data();
  OPYARD_CHECK(data.size() <= runtime::kLimits.chunk_bytes, kInvalidArgument, "a chunk of ",
               data.size(), " bytes is longer than the ", runtime::kLimits.chunk_bytes,
               " that are allowed");
  OPYARD_CHECK(data.size() <= header_->total_bytes() - received_, kInvalidArgument,
               "more bytes came than the ", header_->total_bytes(), " that the header announced");
  if (!data.empty()) {
    std::memcpy(static_cast<char*>(tensor_.raw_data()) + received_, data.data(), data.size());
  }
  received_ += data.size();
}

void Upload::bind_tensor() {
  OPYARD_CHECK(received_ == header_->total_bytes(), kDataLoss, "the upload ended after ", received_,
               " of ", header_->total_bytes(), " bytes");
  encode_meta(header_->id(), tensor_, reply_->mutable_meta());
  use_->bind_upload(header_->id(), std::move(tensor_));
}

}  // namespace opyard::daemon
