#include "rpc/decode.h"

#include <complex>
#include <memory>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/runtime/limits.h"

namespace opyard::daemon {
namespace {

using runtime::kLimits;
using runtime::Operand;

void check_text(std::string_view text, const char* what) {
  OPYARD_CHECK(text.size() <= kLimits.string_bytes, kInvalidArgument, what, " of ", text.size(),
               " bytes is longer than the ", kLimits.string_bytes, " that are allowed");
}

void check_items(int count) {
  OPYARD_CHECK(static_cast<uint32_t>(count) <= kLimits.list_items, kInvalidArgument, "a list of ",
               count, " elements is longer than the ", kLimits.list_items, " that are allowed");
}

ScalarType decode_dtype(const std::string& name) {
  check_text(name, "a dtype's name");
  const std::optional<ScalarType> type = try_parse_scalar_type(name);
  OPYARD_CHECK(type.has_value(), kInvalidArgument, "unknown dtype '", name.substr(0, 64),
               "'; wanted a name like float32, int64 or bool");
  return *type;
}

template <typename T>
T decode_name(const std::string& name, const char* what) {
  check_text(name, what);
  T value{};
  OPYARD_CHECK(try_parse(name, &value), kInvalidArgument, "unknown ", what, " '",
               name.substr(0, 64), "'");
  return value;
}

IValue decode_bools(const v1::BoolList& list) {
  check_items(list.items_size());
  return ArrayRef<bool>(list.items().data(), static_cast<size_t>(list.items_size()));
}

IValue decode_value(const v1::Value& value, uint32_t depth);

IValue decode_list(const v1::ValueList& list, uint32_t depth) {
  OPYARD_CHECK(depth < kLimits.depth, kInvalidArgument, "lists are nested deeper than the ",
               kLimits.depth, " levels that are allowed");
  check_items(list.items_size());
  std::vector<IValue> items;
  items.reserve(static_cast<size_t>(list.items_size()));
  for (const v1::Value& item : list.items()) items.push_back(decode_value(item, depth + 1));
  return IValue::list(items);
}

// Everything but references to the session's values.
IValue decode_value(const v1::Value& value, uint32_t depth) {
  switch (value.kind_case()) {
    case v1::Value::kNone:
      return IValue();
    case v1::Value::kBoolValue:
      return value.bool_value();
    case v1::Value::kIntValue:
      return int64_t{value.int_value()};
    case v1::Value::kDoubleValue:
      return value.double_value();
    case v1::Value::kComplexValue:
      return std::complex<double>(value.complex_value().real(), value.complex_value().imag());
    case v1::Value::kStringValue:
      check_text(value.string_value(), "a text");
      return value.string_value();
    case v1::Value::kDtype:
      return decode_dtype(value.dtype());
    case v1::Value::kDevice:
      check_text(value.device(), "a device's name");
      return Device::parse(value.device());
    case v1::Value::kLayout:
      return decode_name<Layout>(value.layout(), "layout");
    case v1::Value::kMemoryFormat:
      return decode_name<MemoryFormat>(value.memory_format(), "memory format");
    case v1::Value::kInts:
      check_items(value.ints().items_size());
      return std::vector<int64_t>(value.ints().items().begin(), value.ints().items().end());
    case v1::Value::kDoubles:
      check_items(value.doubles().items_size());
      return ArrayRef<double>(value.doubles().items().data(),
                              static_cast<size_t>(value.doubles().items_size()));
    case v1::Value::kBools:
      return decode_bools(value.bools());
    case v1::Value::kList:
      return decode_list(value.list(), depth);
    case v1::Value::kId:
    case v1::Value::kIds:
      raise(Code::kInvalidArgument,
            "a tensor stands inside a mixed list; send lists of tensors as `ids`");
    case v1::Value::KIND_NOT_SET:
      break;
  }
  raise(Code::kInvalidArgument,
        "a value has no kind that this server knows; None is said by `none`");
}

void decode_call(const v1::OpCall& message, runtime::OpCall* call) {
  call->seq = message.seq();
  call->op = message.op();
  call->op_index = message.op_index();
  call->deadline_ms = message.deadline_ms();
  call->site = std::string_view(message.site()).substr(0, kLimits.label_bytes);
  call->want = message.want() == v1::WANT_VALUE  ? runtime::Want::kValue
               : message.want() == v1::WANT_META ? runtime::Want::kMeta
                                                 : runtime::Want::kNone;
  call->results.assign(message.results().begin(), message.results().end());
  try {
    check_text(message.op(), "an operator's name");
    check_items(message.results_size());
    decode_operands(message.args(), message.kwargs(), call);
  } catch (const Error& error) {
    call->unreadable = error;
  }
}

void check_count(int count, uint32_t most, const char* what) {
  OPYARD_CHECK(static_cast<uint32_t>(count) <= most, kInvalidArgument, "the frame has ", count, " ",
               what, ", at most ", most, " are allowed; send them in several frames");
}

}  // namespace

runtime::Operand decode_operand(const v1::Value& value) {
  Operand operand;
  if (value.kind_case() == v1::Value::kId) {
    operand.kind = Operand::Kind::kId;
    operand.id = value.id();
  } else if (value.kind_case() == v1::Value::kIds) {
    check_items(value.ids().items_size());
    operand.kind = Operand::Kind::kIds;
    operand.ids.assign(value.ids().items().begin(), value.ids().items().end());
  } else {
    operand.value = decode_value(value, 0);
  }
  return operand;
}

void decode_operands(const google::protobuf::RepeatedPtrField<v1::Value>& args,
                     const google::protobuf::RepeatedPtrField<v1::NamedValue>& kwargs,
                     runtime::OpCall* call) {
  check_items(args.size());
  check_items(kwargs.size());
  call->args.reserve(static_cast<size_t>(args.size()));
  for (int i = 0; i < args.size(); ++i) {
    try {
      call->args.push_back(decode_operand(args[i]));
    } catch (Error& error) {
      error.prefix(str_cat("argument ", i));
      throw;
    }
  }
  call->kwargs.reserve(static_cast<size_t>(kwargs.size()));
  for (const v1::NamedValue& named : kwargs) {
    check_text(named.name(), "a parameter's name");
    try {
      call->kwargs.push_back({named.name(), decode_operand(named.value())});
    } catch (Error& error) {
      error.prefix(str_cat("argument '", named.name().substr(0, 64), "'"));
      throw;
    }
  }
}

void decode_frame(const v1::OpFrame& message, runtime::Frame* frame) {
  check_count(message.ops_size(), kLimits.ops_per_frame, "operations");
  check_count(message.puts_size(), kLimits.ops_per_frame, "uploads");
  check_count(message.fetch_size(), kLimits.ops_per_frame, "fetches");
  check_count(message.release_size(), kLimits.list_items, "releases");
  frame->puts.resize(static_cast<size_t>(message.puts_size()));
  for (int i = 0; i < message.puts_size(); ++i) {
    const v1::InlineTensor& put = message.puts(i);
    runtime::InlinePut& out = frame->puts[static_cast<size_t>(i)];
    out.id = put.id();
    out.dtype = put.dtype();
    out.data = put.data();
    out.device = put.device();
    out.sizes.assign(put.sizes().begin(), put.sizes().end());
  }
  frame->ops.resize(static_cast<size_t>(message.ops_size()));
  for (int i = 0; i < message.ops_size(); ++i) {
    decode_call(message.ops(i), &frame->ops[static_cast<size_t>(i)]);
  }
  for (const v1::Fetch& fetch : message.fetch()) {
    frame->fetches.push_back(
        {fetch.id(), fetch.want() == v1::WANT_META ? runtime::Want::kMeta : runtime::Want::kValue});
  }
  frame->releases.assign(message.release().begin(), message.release().end());
}

}  // namespace opyard::daemon
