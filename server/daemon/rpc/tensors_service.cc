#include "rpc/tensors_service.h"

#include <memory>

#include "opyard/base/check.h"
#include "opyard/runtime/limits.h"
#include "rpc/call_context.h"
#include "rpc/download.h"
#include "rpc/encode.h"
#include "rpc/status.h"
#include "rpc/upload.h"

namespace opyard::daemon {
namespace {

// Runs `work` as a task of the call's session and ends the call.
template <typename Work>
grpc::ServerUnaryReactor* run_in_session(runtime::Sessions& sessions,
                                         grpc::CallbackServerContext* context, Work work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  try {
    auto use = std::make_shared<runtime::SessionUse>(find_session(sessions, *context));
    (*use)->run([use, reactor, work] {
      try {
        work(**use);
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

void check_ids(int count) {
  OPYARD_CHECK(static_cast<uint32_t>(count) <= runtime::kLimits.list_items, kInvalidArgument,
               "got ", count, " ids, at most ", runtime::kLimits.list_items, " are allowed");
}

}  // namespace

grpc::ServerReadReactor<v1::PutRequest>* TensorsService::Put(grpc::CallbackServerContext* context,
                                                             v1::PutReply* reply) {
  return Upload::start(yard_.sessions(), context, reply);
}

grpc::ServerWriteReactor<v1::GetReply>* TensorsService::Get(grpc::CallbackServerContext* context,
                                                            const v1::GetRequest* request) {
  return Download::start(yard_.sessions(), context, *request);
}

grpc::ServerUnaryReactor* TensorsService::Describe(grpc::CallbackServerContext* context,
                                                   const v1::DescribeRequest* request,
                                                   v1::DescribeReply* reply) {
  return run_in_session(yard_.sessions(), context, [request, reply](runtime::Session& session) {
    check_ids(request->ids_size());
    for (const uint64_t id : request->ids()) {
      encode_meta(id, session.store().tensor_at(id), reply->add_tensors());
    }
  });
}

grpc::ServerUnaryReactor* TensorsService::Release(grpc::CallbackServerContext* context,
                                                  const v1::ReleaseRequest* request,
                                                  v1::ReleaseReply* reply) {
  return run_in_session(yard_.sessions(), context, [request, reply](runtime::Session& session) {
    check_ids(request->ids_size());
    uint64_t released = 0;
    for (const uint64_t id : request->ids()) released += session.store().release(id) ? 1 : 0;
    reply->set_released(released);
  });
}

}  // namespace opyard::daemon
