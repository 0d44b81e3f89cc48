#pragma once

#include <grpcpp/support/server_callback.h>

#include "opyard/core/tensor.h"
#include "opyard/runtime/sessions.h"
#include "opyard/v1/tensors.grpc.pb.h"

namespace opyard::daemon {

// One Tensors.Get. Holds the tensor from its start, so a release in between does no harm; each
// chunk is read in a task of the session, when the one before has been written.
class Download final : public grpc::ServerWriteReactor<v1::GetReply> {
 public:
  // Never null.
  static grpc::ServerWriteReactor<v1::GetReply>* start(runtime::Sessions& sessions,
                                                       grpc::CallbackServerContext* context,
                                                       const v1::GetRequest& request);

 private:
  Download(runtime::SessionUse use, const v1::GetRequest& request);
  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

  void open();
  void send_next();
  template <typename Step>
  void in_session(Step step);

  runtime::SessionUse use_;
  const v1::GetRequest request_;
  v1::GetReply reply_;
  Tensor tensor_;
  uint64_t at_ = 0;
  uint64_t end_ = 0;
};

}  // namespace opyard::daemon
