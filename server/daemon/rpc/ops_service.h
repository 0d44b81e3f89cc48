#pragma once

#include "opyard/runtime/yard.h"
#include "opyard/v1/ops.grpc.pb.h"

namespace opyard::daemon {

// Ops: frames by unary calls and on streams, and what they go through. Decodes, lets the session
// carry out, encodes. Any thread.
class OpsService final : public v1::Ops::CallbackService {
 public:
  OpsService(Yard& yard, runtime::OnceSignal& draining) : yard_(yard), draining_(draining) {}

  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const v1::OpFrame* request,
                                 v1::OpReply* reply) override;
  grpc::ServerBidiReactor<v1::OpFrame, v1::OpReply>* Stream(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::TraceRequest, v1::TraceReply>* Trace(
      grpc::CallbackServerContext* context) override;

 private:
  Yard& yard_;
  runtime::OnceSignal& draining_;
};

}  // namespace opyard::daemon
