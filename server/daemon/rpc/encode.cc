#include "rpc/encode.h"

#include <complex>
#include <string>

#include "opyard/dispatch/operator_entry.h"
#include "opyard/runtime/limits.h"
#include "opyard/runtime/tensor_bytes.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

using runtime::kLimits;

// Room for the fence, the field headers of elements, and whatever a later version adds.
constexpr uint64_t kReplyReserve = 64u << 10;
// A cascade of failures must not fill the reply: beyond this, only the first words of each are
// told.
constexpr size_t kFullErrorBytes = 512u << 10;
constexpr size_t kShortMessage = 100;

bool is_tensor(const IValue& value) {
  return value.is(Tag::kTensor) && value.to_tensor().defined();
}

void encode_failures(const std::vector<runtime::Failure>& failures, v1::OpReply* reply) {
  size_t bytes = 0;
  for (const runtime::Failure& failure : failures) {
    v1::OpError* out = reply->add_errors();
    encode_failure(failure, out);
    if (bytes > kFullErrorBytes) {
      out->clear_info();
      out->set_message(wire_text(out->message().substr(0, kShortMessage)));
    }
    bytes += out->ByteSizeLong();
  }
}

void encode_items(const IValue& value, v1::Value* out) {
  if (value.is_list_of(Tag::kInt)) {
    const auto items = value.to_int_list();
    out->mutable_ints()->mutable_items()->Add(items.begin(), items.end());
  } else if (value.is_list_of(Tag::kDouble)) {
    const auto items = value.to_double_list();
    out->mutable_doubles()->mutable_items()->Add(items.begin(), items.end());
  } else if (value.is_list_of(Tag::kBool)) {
    const auto items = value.to_bool_list();
    out->mutable_bools()->mutable_items()->Add(items.begin(), items.end());
  } else {
    v1::ValueList* list = out->mutable_list();
    for (const IValue& item : value.elements()) encode_value(item, list->add_items());
  }
}

void encode_argument(const Argument& argument, v1::OpArgument* out) {
  out->set_name(argument.name);
  out->set_type(to_string(argument.type));
  out->set_has_default(argument.default_value.has_value());
  out->set_default_text(argument.default_text);
  out->set_kwarg_only(argument.kwarg_only);
  if (argument.alias) {
    std::string text = "(";
    for (size_t i = 0; i < argument.alias->before.size(); ++i) {
      text += (i == 0 ? "" : "|") + argument.alias->before[i];
    }
    out->set_alias(text + (argument.alias->is_write ? "!)" : ")"));
  }
}

// Copies the elements when they fit; says whether it did. Whoever fetches those that a device does
// not give is told why.
bool encode_data(const Tensor& tensor, uint64_t* room, v1::Result* out) {
  const uint64_t bytes = runtime::contiguous_bytes(tensor);
  if (tensor.device().is_meta() || bytes > kLimits.inline_value_bytes || bytes > *room) {
    return false;
  }
  try {
    const Tensor host = runtime::on_host(tensor);
    std::string* data = out->mutable_data();
    data->resize(bytes);
    runtime::read_row_major(host, 0, bytes, data->data());
  } catch (const Error&) {
    out->clear_data();
    return false;
  }
  *room -= bytes;
  return true;
}

}  // namespace

void encode_meta(uint64_t id, const Tensor& tensor, v1::TensorMeta* out) {
  out->set_id(id);
  out->set_dtype(std::string(to_string(tensor.dtype())));
  out->mutable_sizes()->Add(tensor.sizes().begin(), tensor.sizes().end());
  out->mutable_strides()->Add(tensor.strides().begin(), tensor.strides().end());
  out->set_device(to_string(tensor.device()));
  out->set_storage_offset(tensor.storage_offset());
  out->set_bytes(runtime::contiguous_bytes(tensor));
}

void encode_value(const IValue& value, v1::Value* out) {
  switch (value.tag()) {
    case Tag::kNone:
      return out->set_none(true);
    case Tag::kBool:
      return out->set_bool_value(value.to_bool());
    case Tag::kInt:
      return out->set_int_value(value.to_int());
    case Tag::kDouble:
      return out->set_double_value(value.to_double());
    case Tag::kComplex: {
      const std::complex<double> number = value.to_complex();
      out->mutable_complex_value()->set_real(number.real());
      out->mutable_complex_value()->set_imag(number.imag());
      return;
    }
    case Tag::kString:
      return out->set_string_value(wire_text(value.to_string_view()));
    case Tag::kDtype:
      return out->set_dtype(std::string(to_string(value.to_dtype())));
    case Tag::kDevice:
      return out->set_device(to_string(value.to_device()));
    case Tag::kLayout:
      return out->set_layout(std::string(to_string(value.to_layout())));
    case Tag::kMemoryFormat:
      return out->set_memory_format(std::string(to_string(value.to_memory_format())));
    case Tag::kList:
    case Tag::kTuple:
      return encode_items(value, out);
    case Tag::kTensor:
      if (!value.to_tensor().defined()) return out->set_none(true);
      [[fallthrough]];
    default:
      return out->set_string_value(wire_text(describe(value)));
  }
}

void encode_outcome(const runtime::Outcome& outcome, v1::OpReply* reply) {
  reply->set_ack(outcome.ack);
  encode_failures(outcome.failures, reply);
  for (const runtime::Result& result : outcome.results) {
    v1::Result* out = reply->add_results();
    out->set_seq(result.seq);
    out->set_index(result.index);
    out->set_id(result.id);
    if (is_tensor(result.value)) {
      encode_meta(result.id, result.value.to_tensor(), out->mutable_meta());
    } else {
      encode_value(result.value, out->mutable_value());
    }
  }
  // Elements last: they get the room that is left.
  const uint64_t taken = reply->ByteSizeLong() + kReplyReserve;
  uint64_t room = taken < kLimits.frame_bytes ? kLimits.frame_bytes - taken : 0;
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const runtime::Result& result = outcome.results[i];
    if (result.want != runtime::Want::kValue || !is_tensor(result.value)) continue;
    v1::Result* out = reply->mutable_results(static_cast<int>(i));
    out->set_data_omitted(!encode_data(result.value.to_tensor(), &room, out));
  }
}

void encode_timings(const runtime::Timings& timings, uint64_t encode_ns, v1::Timings* out) {
  out->set_queue_ns(timings.queue_ns);
  out->set_resolve_ns(timings.resolve_ns);
  out->set_kernel_ns(timings.kernel_ns);
  out->set_encode_ns(encode_ns);
}

void encode_schema(const FunctionSchema& schema, v1::OpSchema* out) {
  out->set_name(schema.full_name());
  out->set_text(to_string(schema));
  for (const Argument& argument : schema.arguments) {
    encode_argument(argument, out->add_arguments());
  }
  for (const Argument& value : schema.returns) encode_argument(value, out->add_returns());
}

void encode_traced(const runtime::TracedCall& call, v1::TraceLine* out) {
  out->set_text(call.text());
  out->set_op(call.op->name());
  out->set_key(to_string(call.key));
  out->set_label(std::string(to_string(call.label)));
  out->set_depth(call.depth);
}

}  // namespace opyard::daemon
