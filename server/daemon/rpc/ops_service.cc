#include "rpc/ops_service.h"

#include <memory>

#include "rpc/call_context.h"
#include "rpc/op_stream.h"
#include "rpc/run_frame.h"
#include "rpc/status.h"
#include "rpc/trace_stream.h"

namespace opyard::daemon {

grpc::ServerUnaryReactor* OpsService::Call(grpc::CallbackServerContext* context,
                                           const v1::OpFrame* request, v1::OpReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  try {
    auto use = std::make_shared<runtime::SessionUse>(find_session(yard_.sessions(), *context));
    const auto arrival = runtime::Clock::now();
    const auto deadline = call_deadline(*context);
    runtime::Session& session = **use;
    session.run([use, context, request, reply, reactor, arrival, deadline] {
      if (context->IsCancelled()) {
        reactor->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled; not started"));
        return;
      }
      try {
        runtime::Session& here = **use;
        here.calls().forget_names();
        run_frame(here, here.calls(), *request, arrival, deadline, reply);
        reactor->Finish(grpc::Status::OK);
      } catch (...) {
        reactor->Finish(current_status());
      }
    });
  } catch (...) {
    reactor->Finish(current_status());
  }
  return reactor;
}

grpc::ServerBidiReactor<v1::OpFrame, v1::OpReply>* OpsService::Stream(
    grpc::CallbackServerContext* context) {
  return OpStream::start(yard_.sessions(), draining_, context);
}

grpc::ServerBidiReactor<v1::TraceRequest, v1::TraceReply>* OpsService::Trace(
    grpc::CallbackServerContext* context) {
  return TraceStream::start(yard_, draining_, context);
}

}  // namespace opyard::daemon
