#include "rpc/control_service.h"

#include <utility>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/runtime/token.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

constexpr uint32_t kVersion = 1;
constexpr const char* kFeatures[] = {"ops.call", "ops.stream",     "ops.fetch",
                                     "ops.puts", "tensors.chunks", "ops.trace"};

void encode_limits(const runtime::Quotas& quotas, v1::Limits* out) {
  const runtime::Limits& limits = runtime::kLimits;
  out->set_frame_bytes(limits.frame_bytes);
  out->set_chunk_bytes(limits.chunk_bytes);
  out->set_ops_per_frame(limits.ops_per_frame);
  out->set_dims(limits.dims);
  out->set_depth(limits.depth);
  out->set_list_items(limits.list_items);
  out->set_string_bytes(limits.string_bytes);
  out->set_interned_ops(limits.interned_ops);
  out->set_inline_value_bytes(limits.inline_value_bytes);
  out->set_session_bytes(quotas.session_bytes);
  out->set_session_handles(quotas.session_handles);
  out->set_sessions(quotas.sessions);
  out->set_streams_per_session(limits.streams_per_session);
  out->set_traces_per_session(limits.traces_per_session);
}

}  // namespace

ControlService::ControlService(Yard& yard, std::string server_name)
    : yard_(yard),
      server_name_(std::move(server_name)),
      incarnation_(runtime::Token::make().to_bytes()) {}

grpc::ServerUnaryReactor* ControlService::Handshake(grpc::CallbackServerContext* context,
                                                    const v1::HandshakeRequest* request,
                                                    v1::HandshakeReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  try {
    OPYARD_CHECK(request->min_version() <= kVersion && request->max_version() >= kVersion,
                 kFailedPrecondition, "the client speaks the protocol versions ",
                 request->min_version(), " to ", request->max_version(), ", this server version ",
                 kVersion, "; use a client of the same release");
    reply->set_version(kVersion);
    for (const char* feature : kFeatures) reply->add_features(feature);
    encode_limits(yard_.sessions().quotas(), reply->mutable_limits());
    reply->set_incarnation(incarnation_);
    reply->set_server(server_name_);
    for (std::string& device : yard_.devices()) reply->add_devices(std::move(device));
    reactor->Finish(grpc::Status::OK);
  } catch (...) {
    reactor->Finish(current_status());
  }
  return reactor;
}

grpc::ServerUnaryReactor* ControlService::OpenSession(grpc::CallbackServerContext* context,
                                                      const v1::OpenSessionRequest* request,
                                                      v1::OpenSessionReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  try {
    runtime::SessionWish wish;
    wish.label = request->label();
    wish.lease_seconds = request->lease_seconds();
    wish.bytes = request->bytes();
    wish.handles = request->handles();
    const std::shared_ptr<runtime::Session> session = yard_.sessions().open(wish);
    reply->set_token(session->token().to_bytes());
    reply->set_lease_seconds(session->terms().lease_seconds);
    reply->set_bytes(session->terms().bytes);
    reply->set_handles(session->terms().handles);
    reply->set_number(session->number());
    log(LogLevel::kDebug,
        str_cat("session ", session->number(), " opened, label '", wire_text(wish.label), "'"));
    reactor->Finish(grpc::Status::OK);
  } catch (...) {
    reactor->Finish(current_status());
  }
  return reactor;
}

grpc::ServerUnaryReactor* ControlService::CloseSession(grpc::CallbackServerContext* context,
                                                       const v1::CloseSessionRequest* request,
                                                       v1::CloseSessionReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  try {
    yard_.sessions().close(request->token(), [reactor, reply](runtime::Freed freed) {
      reply->set_freed_handles(freed.handles);
      reply->set_freed_bytes(freed.bytes);
      reactor->Finish(grpc::Status::OK);
    });
  } catch (...) {
    reactor->Finish(current_status());
  }
  return reactor;
}

}  // namespace opyard::daemon
