#include "rpc/download.h"

#include <algorithm>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/runtime/limits.h"
#include "opyard/runtime/tensor_bytes.h"
#include "rpc/call_context.h"
#include "rpc/encode.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

class RefusedDownload final : public grpc::ServerWriteReactor<v1::GetReply> {
 public:
  explicit RefusedDownload(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerWriteReactor<v1::GetReply>* Download::start(runtime::Sessions& sessions,
                                                        grpc::CallbackServerContext* context,
                                                        const v1::GetRequest& request) {
  try {
    return new Download(find_session(sessions, *context), request);
  } catch (...) {
    return new RefusedDownload(current_status());
  }
}

Download::Download(runtime::SessionUse use, const v1::GetRequest& request)
    : use_(std::move(use)), request_(request) {
  in_session([this] {
    open();
    send_next();
  });
}

template <typename Step>
void Download::in_session(Step step) {
  try {
    use_->run([this, step] {
      try {
        step();
      } catch (...) {
        Finish(current_status());
      }
    });
  } catch (...) {
    Finish(current_status());
  }
}

void Download::open() {
  tensor_ = use_->store().tensor_at(request_.id());
  const uint64_t bytes = runtime::contiguous_bytes(tensor_);
  OPYARD_CHECK(request_.offset() <= bytes && request_.length() <= bytes - request_.offset(),
               kOutOfRange, "the range of ", request_.length(), " bytes from byte ",
               request_.offset(), " on leaves the tensor's ", bytes, " bytes");
  at_ = request_.offset();
  end_ = request_.length() == 0 ? bytes : at_ + request_.length();
  encode_meta(request_.id(), tensor_, reply_.mutable_meta());
  tensor_ = use_->readable(tensor_);
}

void Download::send_next() {
  const uint64_t length = std::min(end_ - at_, runtime::kLimits.chunk_bytes);
  std::string* data = reply_.mutable_data();
  data->resize(length);
  runtime::read_row_major(tensor_, at_, length, data->data());
  at_ += length;
  StartWrite(&reply_);
}

void Download::OnWriteDone(bool ok) {
  if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"));
  if (at_ == end_) return Finish(grpc::Status::OK);
  reply_.clear_meta();
  in_session([this] { send_next(); });
}

}  // namespace opyard::daemon
