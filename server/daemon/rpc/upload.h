#pragma once

#include <grpcpp/support/server_callback.h>

#include <optional>

#include "opyard/core/tensor.h"
#include "opyard/runtime/sessions.h"
#include "opyard/v1/tensors.grpc.pb.h"

namespace opyard::daemon {

// One Tensors.Put. The storage is made when the header is there, chunks are copied into it as they
// come, and the id is bound behind the last one; an upload that fails leaves its id poisoned with
// the cause, and nothing else. One read is under way at a time, so all members belong to whoever
// handles it.
class Upload final : public grpc::ServerReadReactor<v1::PutRequest> {
 public:
  // Never null.
  static grpc::ServerReadReactor<v1::PutRequest>* start(runtime::Sessions& sessions,
                                                        grpc::CallbackServerContext* context,
                                                        v1::PutReply* reply);

 private:
  Upload(runtime::SessionUse use, v1::PutReply* reply);
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

  // Runs `step` in the session's task; what it raises ends the upload and poisons its id.
  template <typename Step>
  void in_session(Step step);
  void open_tensor();
  void take_chunk();
  void bind_tensor();

  runtime::SessionUse use_;
  v1::PutReply* const reply_;
  v1::PutRequest request_;
  std::optional<v1::PutHeader> header_;
  bool id_taken_ = false;  // the header's id is this upload's
  Tensor tensor_;
  uint64_t received_ = 0;
};

}  // namespace opyard::daemon
