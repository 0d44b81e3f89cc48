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

template <typename Names>
void encode_keys(KeySet keys, Names* out) {
  for (const DispatchKey key : keys.keys()) out->Add(to_string(key));
}

void encode_hop(const Hop& hop, v1::ExplainStep* out) {
  out->set_key(to_string(hop.key));
  out->set_kernel(hop.kernel);
  out->set_rule(hop.reason);
  out->set_source(hop.plugin);
  out->set_op(hop.op);
  out->set_generation(hop.generation);
  out->set_place(hop.place);
}

void encode_row(const std::string& op, const TableGroup& group, v1::ExplainStep* out) {
  const TableRow& row = group.row;
  encode_hop({op, row.key, row.kernel, row.reason, row.plugin, row.generation, row.place}, out);
  out->set_kind(std::string(kind_of(row)));
  for (const DispatchKey key : group.keys) out->add_keys(to_string(key));
}

void explain(const v1::ExplainRequest& request, runtime::Session* session,
             v1::ExplainReply* reply) {
  runtime::OpCall call;
  call.op = request.op();
  decode_operands(request.args(), request.kwargs(), &call);
  const Explanation explanation =
      runtime::explain_call(call, {request.keys().begin(), request.keys().end()},
                            {request.include().begin(), request.include().end()},
                            {request.exclude().begin(), request.exclude().end()}, session);
  reply->set_text(to_string(explanation));
  if (!explanation.fails) reply->set_chosen(to_string(explanation.chosen));
  reply->set_op(explanation.op);
  reply->set_schema(explanation.schema);
  encode_keys(explanation.arguments, reply->mutable_arguments());
  encode_keys(explanation.included, reply->mutable_included());
  encode_keys(explanation.excluded, reply->mutable_excluded());
  encode_keys(explanation.fallthrough, reply->mutable_fallthrough());
  encode_keys(explanation.keys, reply->mutable_remaining());
  reply->set_fails(explanation.fails);
  for (const Hop& hop : explanation.trail) encode_hop(hop, reply->add_steps());
}

runtime::TableKind table_kind(v1::DumpTableRequest::Kind kind) {
  switch (kind) {
    case v1::DumpTableRequest::COMPUTED:
      return runtime::TableKind::kComputed;
    case v1::DumpTableRequest::REGISTRATIONS:
      return runtime::TableKind::kRegistrations;
    case v1::DumpTableRequest::FOLDED:
      return runtime::TableKind::kFolded;
    case v1::DumpTableRequest::SLOTS:
      return runtime::TableKind::kSlots;
    default:
      raise(Code::kInvalidArgument,
            str_cat("the kind ", static_cast<int>(kind), " of table is not known; wanted 0 to 3"));
  }
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
    const runtime::Table table =
        runtime::dump_table(request->op(), table_kind(request->kind()), request->width());
    reply->set_text(table.text);
    reply->set_op(table.op);
    for (const TableGroup& group : table.rows) encode_row(table.op, group, reply->add_rows());
  });
  return reactor;
}

grpc::ServerUnaryReactor* RegistryService::CheckInvariants(grpc::CallbackServerContext* context,
                                                           const v1::CheckInvariantsRequest*,
                                                           v1::CheckInvariantsReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  finish_with(reactor, [&] {
    const runtime::CheckedTables checked = runtime::check_tables();
    reply->set_operators(checked.operators);
    reply->set_text(checked.text);
  });
  return reactor;
}

}  // namespace opyard::daemon
