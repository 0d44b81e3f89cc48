#include "client/cpp/client.h"

#include <algorithm>

#include "opyard/base/check.h"

namespace opyard::client {
namespace {

// Tensors up to this size ride in the frame; larger ones are uploaded in chunks.
constexpr size_t kInlinePut = size_t{256} << 10;

bool is_tensor_list(const SchemaArgument& argument) {
  return argument.type.starts_with("Tensor") && argument.type.find('[') != std::string::npos;
}

// Puts the replies of one operation into the shape of its returns.
std::vector<Output> shape_outputs(const OpSchema& schema, std::vector<Result> results) {
  std::sort(results.begin(), results.end(),
            [](const Result& a, const Result& b) { return a.index < b.index; });
  const auto lists = static_cast<size_t>(
      std::count_if(schema.returns.begin(), schema.returns.end(), is_tensor_list));
  const size_t plain = schema.returns.size() - lists;
  OPYARD_CHECK(results.size() >= plain && (lists > 0 || results.size() == plain), kInternal,
               schema.name, " answered with ", results.size(), " values, wanted ",
               schema.returns.size());
  std::vector<Output> outputs(schema.returns.size());
  size_t next = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs[i];
    const bool is_list = is_tensor_list(schema.returns[i]);
    const size_t count = is_list ? (results.size() - plain) / std::max<size_t>(lists, 1) : 1;
    if (is_list) output.kind = Output::Kind::kTensors;
    for (size_t j = 0; j < count && next < results.size(); ++j, ++next) {
      Result& result = results[next];
      if (!result.is_tensor && !is_list) {
        output.value = std::move(result.value);
        continue;
      }
      if (!is_list) output.kind = Output::Kind::kTensor;
      output.tensors.push_back(std::move(result.tensor));
      output.metas.push_back(std::move(result.meta));
    }
  }
  return outputs;
}

}  // namespace

void raise_failure(const Reply& reply) {
  if (reply.failures.empty()) return;
  const Failure& failure = reply.failures.front();
  raise(failure.code, failure.message);
}

Client connect(std::string_view address, const ConnectOptions& options) {
  return Client(make_grpc_transport(address.empty() ? default_address() : address, options));
}

const ServerInfo& Client::info() {
  const std::lock_guard lock(mutex_);
  if (!info_) info_ = std::make_unique<ServerInfo>(transport_->handshake());
  return *info_;
}

Id Client::put(const HostTensor& tensor) {
  const Id id = new_id();
  transport_->put(id, tensor);
  return id;
}

Value Client::lift(Frame& frame, std::vector<Id>& temporary, size_t& room, Value value) {
  if (auto* list = std::get_if<Value::List>(&value.data)) {
    const bool tensors = std::any_of(list->begin(), list->end(), [](const Value& item) {
      return item.get_if<HostTensor>() || item.get_if<Ref>();
    });
    if (!tensors) return value;
    Refs refs;
    for (Value& item : *list) {
      const Value lifted = lift(frame, temporary, room, std::move(item));
      OPYARD_CHECK(lifted.is_none() || lifted.get_if<Ref>(), kInvalidArgument,
                   "a list of tensors holds something else than tensors and None");
      refs.ids.push_back(lifted.is_none() ? 0 : lifted.get_if<Ref>()->id);
    }
    return refs;
  }
  auto* tensor = std::get_if<HostTensor>(&value.data);
  if (!tensor) return value;
  const Id id = new_id();
  if (room > 0 && tensor->data.size() <= std::min(room, kInlinePut)) {
    room -= tensor->data.size();
    frame.puts.push_back({id, std::move(*tensor)});
  } else {
    transport_->put(id, *tensor);
  }
  temporary.push_back(id);
  return Ref{id};
}

void Client::lift_tensors(Frame& frame, std::vector<Id>& temporary) {
  // Half of the frame stays free for everything that is not elements.
  size_t room = info().frame_bytes / 2;
  for (OpCall& call : frame.ops) {
    for (Value& arg : call.args) arg = lift(frame, temporary, room, std::move(arg));
    for (NamedValue& arg : call.kwargs) {
      arg.value = lift(frame, temporary, room, std::move(arg.value));
    }
  }
}

std::vector<Output> Client::call(const OpSchema& schema, std::vector<Value> args,
                                 std::vector<NamedValue> kwargs) {
  Frame frame;
  std::vector<Id> temporary;
  OpCall call{next_seq_.fetch_add(1), schema.name, std::move(args),
              std::move(kwargs),      {},          Want::kValue};
  const bool lists = std::any_of(schema.returns.begin(), schema.returns.end(), is_tensor_list);
  // Results get ids only so that large ones can be fetched in bulk.
  for (size_t i = 0; !lists && i < schema.returns.size(); ++i) {
    const bool tensor = schema.returns[i].type.starts_with("Tensor");
    call.results.push_back(tensor ? new_id() : 0);
    if (tensor) temporary.push_back(call.results.back());
  }
  const std::vector<Id> ids = call.results;
  frame.ops.push_back(std::move(call));
  lift_tensors(frame, temporary);
  Reply reply = transport_->call(frame);
  try {
    raise_failure(reply);
    for (Result& result : reply.results) {
      if (!result.is_tensor || result.tensor.has_data) continue;
      OPYARD_CHECK(result.index < ids.size(), kResourceExhausted, "result ", result.index, " of ",
                   schema.name, " is too large to be sent inline");
      result.tensor = transport_->get(ids[result.index]);
    }
  } catch (...) {
    transport_->release(temporary);
    throw;
  }
  if (!temporary.empty()) transport_->release(temporary);
  return shape_outputs(schema, std::move(reply.results));
}

std::vector<Output> Client::call(std::string_view op, std::vector<Value> args,
                                 std::vector<NamedValue> kwargs) {
  for (const OpSchema& schema : transport_->get_schema(std::string(op))) {
    if (schema.name == op) return call(schema, std::move(args), std::move(kwargs));
  }
  raise(Code::kNotFound, str_cat(op, " names several overloads; give one of them"));
}

Trail Client::explain(ExplainQuestion question) {
  std::vector<Id> temporary;
  Frame unused;
  size_t room = 0;  // nothing rides along: every tensor is uploaded
  for (Value& arg : question.args) arg = lift(unused, temporary, room, std::move(arg));
  for (NamedValue& arg : question.kwargs) {
    arg.value = lift(unused, temporary, room, std::move(arg.value));
  }
  Trail trail = transport_->explain(question);
  if (!temporary.empty()) transport_->release(temporary);
  return trail;
}

Id Client::run(std::string_view op, std::vector<Value> args, std::vector<NamedValue> kwargs) {
  Frame frame;
  const Id result = new_id();
  frame.ops.push_back({next_seq_.fetch_add(1),
                       std::string(op),
                       std::move(args),
                       std::move(kwargs),
                       {result},
                       Want::kNone});
  lift_tensors(frame, frame.releases);
  const Reply reply = transport_->call(frame);
  if (!reply.failures.empty()) transport_->release({result});
  raise_failure(reply);
  return result;
}

}  // namespace opyard::client
