#include "client/cpp/wire.h"

#include "opyard/base/check.h"

namespace opyard::client::wire {
namespace {

void encode_name(const Name& name, v1::Value* out) {
  switch (name.kind) {
    case Name::Kind::kDtype:
      return out->set_dtype(name.text);
    case Name::Kind::kDevice:
      return out->set_device(name.text);
    case Name::Kind::kLayout:
      return out->set_layout(name.text);
    case Name::Kind::kMemoryFormat:
      return out->set_memory_format(name.text);
  }
}

// One overload per alternative of Value.
struct ValueEncoder {
  v1::Value* out;

  void operator()(None) const { out->set_none(true); }
  void operator()(bool value) const { out->set_bool_value(value); }
  void operator()(int64_t value) const { out->set_int_value(value); }
  void operator()(double value) const { out->set_double_value(value); }
  void operator()(const std::complex<double>& value) const {
    out->mutable_complex_value()->set_real(value.real());
    out->mutable_complex_value()->set_imag(value.imag());
  }
  void operator()(const std::string& value) const { out->set_string_value(value); }
  void operator()(const Name& value) const { encode_name(value, out); }
  void operator()(const Ref& value) const { out->set_id(value.id); }
  void operator()(const Refs& value) const {
    out->mutable_ids()->mutable_items()->Add(value.ids.begin(), value.ids.end());
  }
  void operator()(const std::vector<int64_t>& value) const {
    out->mutable_ints()->mutable_items()->Add(value.begin(), value.end());
  }
  void operator()(const std::vector<double>& value) const {
    out->mutable_doubles()->mutable_items()->Add(value.begin(), value.end());
  }
  void operator()(const std::vector<bool>& value) const {
    for (const bool item : value) out->mutable_bools()->add_items(item);
    if (value.empty()) out->mutable_bools();
  }
  void operator()(const Value::List& value) const {
    v1::ValueList* list = out->mutable_list();
    for (const Value& item : value) encode(item, list->add_items());
  }
  void operator()(const HostTensor&) const {
    raise(Code::kInternal, "a tensor stands among the arguments of a frame; it belongs into puts");
  }
};

template <typename Field>
std::vector<std::string> texts(const Field& field) {
  return {field.begin(), field.end()};
}

Code code_of(int32_t code) noexcept {
  return code >= 1 && code <= 16 ? static_cast<Code>(code) : Code::kUnknown;
}

void decode_result(v1::Result& in, Result& out) {
  out.seq = in.seq();
  out.index = in.index();
  out.is_tensor = in.has_meta();
  if (!out.is_tensor) {
    if (in.has_value()) out.value = decode(in.value());
    return;
  }
  out.meta = decode(in.meta());
  out.tensor.dtype = out.meta.dtype;
  out.tensor.sizes = out.meta.sizes;
  out.tensor.device = out.meta.device;
  out.tensor.has_data = !in.data_omitted() && in.data().size() == out.meta.bytes;
  if (out.tensor.has_data) out.tensor.data = std::move(*in.mutable_data());
}

}  // namespace

void encode(const Value& value, v1::Value* out) { std::visit(ValueEncoder{out}, value.data); }

void encode(const Frame& frame, v1::OpFrame* out) {
  for (const Put& put : frame.puts) {
    v1::InlineTensor* tensor = out->add_puts();
    tensor->set_id(put.id);
    tensor->set_dtype(put.tensor.dtype);
    tensor->mutable_sizes()->Add(put.tensor.sizes.begin(), put.tensor.sizes.end());
    tensor->set_data(put.tensor.data);
    tensor->set_device(put.tensor.device);
  }
  for (const OpCall& call : frame.ops) {
    v1::OpCall* op = out->add_ops();
    op->set_seq(call.seq);
    op->set_op(call.op);
    for (const Value& arg : call.args) encode(arg, op->add_args());
    for (const NamedValue& arg : call.kwargs) {
      v1::NamedValue* named = op->add_kwargs();
      named->set_name(arg.name);
      encode(arg.value, named->mutable_value());
    }
    op->mutable_results()->Add(call.results.begin(), call.results.end());
    op->set_want(static_cast<v1::Want>(call.want));
  }
  for (const Id id : frame.fetches) {
    v1::Fetch* fetch = out->add_fetch();
    fetch->set_id(id);
    fetch->set_want(v1::WANT_VALUE);
  }
  out->mutable_release()->Add(frame.releases.begin(), frame.releases.end());
}

void encode(const ExplainQuestion& question, v1::ExplainRequest* out) {
  out->set_op(question.op);
  for (const std::string& key : question.keys) out->add_keys(key);
  for (const Value& arg : question.args) encode(arg, out->add_args());
  for (const NamedValue& arg : question.kwargs) {
    v1::NamedValue* named = out->add_kwargs();
    named->set_name(arg.name);
    encode(arg.value, named->mutable_value());
  }
  for (const std::string& key : question.include) out->add_include(key);
  for (const std::string& key : question.exclude) out->add_exclude(key);
}

Value decode(const v1::Value& value) {
  using V = v1::Value;
  switch (value.kind_case()) {
    case V::kNone:
    case V::KIND_NOT_SET:
      return None{};
    case V::kBoolValue:
      return value.bool_value();
    case V::kIntValue:
      return int64_t{value.int_value()};
    case V::kDoubleValue:
      return value.double_value();
    case V::kComplexValue:
      return std::complex<double>(value.complex_value().real(), value.complex_value().imag());
    case V::kStringValue:
      return value.string_value();
    case V::kDtype:
      return Name{Name::Kind::kDtype, value.dtype()};
    case V::kDevice:
      return Name{Name::Kind::kDevice, value.device()};
    case V::kLayout:
      return Name{Name::Kind::kLayout, value.layout()};
    case V::kMemoryFormat:
      return Name{Name::Kind::kMemoryFormat, value.memory_format()};
    case V::kId:
      return Ref{value.id()};
    case V::kInts:
      return std::vector<int64_t>(value.ints().items().begin(), value.ints().items().end());
    case V::kDoubles:
      return std::vector<double>(value.doubles().items().begin(), value.doubles().items().end());
    case V::kBools:
      return std::vector<bool>(value.bools().items().begin(), value.bools().items().end());
    case V::kIds:
      return Refs{{value.ids().items().begin(), value.ids().items().end()}};
    case V::kList:
      break;
  }
  // Protobuf's own limit of nesting bounds this recursion.
  Value::List list;
  for (const v1::Value& item : value.list().items()) list.push_back(decode(item));
  return list;
}

TensorMeta decode(const v1::TensorMeta& meta) {
  TensorMeta out;
  out.id = meta.id();
  out.dtype = meta.dtype();
  out.sizes.assign(meta.sizes().begin(), meta.sizes().end());
  out.strides.assign(meta.strides().begin(), meta.strides().end());
  out.device = meta.device();
  out.storage_offset = meta.storage_offset();
  out.bytes = meta.bytes();
  return out;
}

Reply decode(v1::OpReply& reply) {
  Reply out;
  for (const v1::OpError& error : reply.errors()) {
    out.failures.push_back(
        {error.seq(), error.id(), code_of(error.code()), error.message(), error.info().reason()});
  }
  for (v1::Result& result : *reply.mutable_results()) {
    decode_result(result, out.results.emplace_back());
  }
  const v1::Timings& timings = reply.fence().timings();
  out.queue_ns = timings.queue_ns();
  out.resolve_ns = timings.resolve_ns();
  out.kernel_ns = timings.kernel_ns();
  return out;
}

ServerInfo decode(const v1::HandshakeReply& reply) {
  ServerInfo info;
  info.version = reply.version();
  info.server = reply.server();
  info.features.assign(reply.features().begin(), reply.features().end());
  info.devices.assign(reply.devices().begin(), reply.devices().end());
  info.frame_bytes = reply.limits().frame_bytes();
  info.chunk_bytes = reply.limits().chunk_bytes();
  info.inline_value_bytes = reply.limits().inline_value_bytes();
  return info;
}

OpSchema decode(const v1::OpSchema& schema) {
  const auto arguments = [](const auto& from) {
    std::vector<SchemaArgument> list;
    for (const v1::OpArgument& a : from) {
      list.push_back(
          {a.name(), a.type(), a.has_default(), a.default_text(), a.kwarg_only(), a.alias()});
    }
    return list;
  };
  return {schema.name(), schema.text(), arguments(schema.arguments()), arguments(schema.returns())};
}

TrailStep decode(const v1::ExplainStep& step) {
  return {step.key(),        step.kernel(), step.rule(),        step.source(), step.op(),
          step.generation(), step.place(),  texts(step.keys()), step.kind()};
}

Trail decode(const v1::ExplainReply& reply) {
  Trail trail{reply.text(),
              {},
              reply.chosen(),
              reply.op(),
              reply.schema(),
              texts(reply.arguments()),
              texts(reply.included()),
              texts(reply.excluded()),
              texts(reply.fallthrough()),
              texts(reply.remaining()),
              reply.fails()};
  for (const v1::ExplainStep& step : reply.steps()) trail.steps.push_back(decode(step));
  return trail;
}

Table decode(const v1::DumpTableReply& reply) {
  Table table{reply.op(), reply.text(), {}};
  for (const v1::ExplainStep& row : reply.rows()) table.rows.push_back(decode(row));
  return table;
}

TraceBatch decode(const v1::TraceReply& reply) {
  TraceBatch batch;
  for (const v1::TraceLine& line : reply.lines()) {
    batch.lines.push_back({line.text(), line.op(), line.key(), line.label(), line.depth()});
  }
  batch.lost = reply.lost();
  return batch;
}

}  // namespace opyard::client::wire
