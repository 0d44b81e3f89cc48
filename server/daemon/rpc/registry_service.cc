#include "rpc/registry_service.h"

#include <memory>

#include "opyard/base/check.h"
#include "opyard/runtime/catalog.h"
#include "rpc/call_context.h"
#include "rpc/decode.h"
#include "rpc/encode.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

void encode_step(const runtime::TrailStep& step, v1::ExplainStep* out) {
  out->set_key(step.key);
  out->set_kernel(step.kernel);
  out->set_rule(step.rule);
  out->set_source(step.source);
}

void explain(const v1::ExplainRequest& request, runtime::Session* session,
             v1::ExplainReply* reply) {
  runtime::OpCall call;
  call.op = request.op();
  decode_operands(request.args(), request.kwargs(), &call);
  const runtime::Trail trail =
      runtime::explain_call(call, {request.keys().begin(), request.keys().end()},
                            {request.include().begin(), request.include().end()},
                            {request.exclude().begin(), request.exclude().end()}, session);
  reply->set_text(trail.text);
  reply->set_chosen(trail.chosen);
  for (const runtime::TrailStep& step : trail.steps) encode_step(step, reply->add_steps());
}

// Does the work of a call and ends it.
template <typename Work>
void finish_with(grpc::ServerUnaryReactor* reactor, Work work) {
  try {
    work();
    reactor->Finish(grpc::Status::OK);
  } catch (...) {
    reactor->Finish(current_status());
  }
}

}  // namespace

grpc::ServerUnaryReactor* RegistryService::ListOps(grpc::CallbackServerContext* context,
                                                   const v1::ListOpsRequest* request,
                                                   v1::ListOpsReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  finish_with(reactor, [&] {
    runtime::OpPage page =
        runtime::list_operators(request->prefix(), request->page_size(), request->page_token());
    for (const FunctionSchema& schema : page.schemas) {
      if (request->with_schemas()) {
        encode_schema(schema, reply->add_ops());
      } else {
        reply->add_ops()->set_name(schema.full_name());
      }
    }
    reply->set_next_page_token(std::move(page.next));
    reply->set_total(page.total);
  });
  return reactor;
}

grpc::ServerUnaryReactor* RegistryService::GetSchema(grpc::CallbackServerContext* context,
                                                     const v1::GetSchemaRequest* request,
                                                     v1::GetSchemaReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  finish_with(reactor, [&] {
    for (const FunctionSchema& schema : runtime::schemas_of(request->op())) {
      encode_schema(schema, reply->add_schemas());
    }
  });
  return reactor;
}

grpc::ServerUnaryReactor* RegistryService::Explain(grpc::CallbackServerContext* context,
                                                   const v1::ExplainRequest* request,
                                                   v1::ExplainReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool by_values = request->args_size() > 0 || request->kwargs_size() > 0;
  if (!by_values || session_token(*context).empty()) {
    finish_with(reactor, [&] { explain(*request, nullptr, reply); });
    return reactor;
  }
  try {
    auto use = std::make_shared<runtime::SessionUse>(find_session(yard_.sessions(), *context));
    (*use)->run([use, reactor, request, reply] {
      finish_with(reactor, [&] { explain(*request, &**use, reply); });
    });
  } catch (...) {
    reactor->Finish(current_status());
  }
  return reactor;
}

grpc::ServerUnaryReactor* RegistryService::DumpTable(grpc::CallbackServerContext* context,
                                                     const v1::DumpTableRequest* request,
                                                     v1::DumpTableReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  finish_with(reactor, [&] {
    const bool registrations = request->kind() == v1::DumpTableRequest::REGISTRATIONS;
    const runtime::Trail table = runtime::dump_table(request->op(), registrations);
    reply->set_text(table.text);
    for (const runtime::TrailStep& row : table.steps) encode_step(row, reply->add_rows());
  });
  return reactor;
}

}  // namespace opyard::daemon
