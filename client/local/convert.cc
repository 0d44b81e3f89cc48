#include "client/local/convert.h"

#include "opyard/base/check.h"
#include "opyard/dispatch/operator_entry.h"
#include "opyard/runtime/tensor_bytes.h"

namespace opyard::client {
namespace {

IValue to_ivalue(const Value& value);

struct ToIValue {
  IValue operator()(None) const { return IValue(); }
  IValue operator()(bool value) const { return IValue(value); }
  IValue operator()(int64_t value) const { return IValue(value); }
  IValue operator()(double value) const { return IValue(value); }
  IValue operator()(const std::complex<double>& value) const { return IValue(value); }
  IValue operator()(const std::string& value) const { return IValue(value); }
  // The runtime reads names where a dtype, device, layout or memory format is wanted.
  IValue operator()(const Name& value) const { return IValue(value.text); }
  IValue operator()(const std::vector<int64_t>& value) const { return IValue(value); }
  IValue operator()(const std::vector<double>& value) const {
    return IValue(ArrayRef<double>(value));
  }
  IValue operator()(const std::vector<bool>& value) const {
    const auto copy = std::make_unique<bool[]>(value.size());
    std::copy(value.begin(), value.end(), copy.get());
    return IValue(ArrayRef<bool>(copy.get(), value.size()));
  }
  IValue operator()(const Value::List& value) const {
    std::vector<IValue> items;
    for (const Value& item : value) items.push_back(to_ivalue(item));
    return IValue::list(items);
  }
  template <typename Other>
  IValue operator()(const Other&) const {
    raise(Code::kInvalidArgument, "a tensor stands where only plain values may stand");
  }
};

IValue to_ivalue(const Value& value) { return std::visit(ToIValue{}, value.data); }

Value from_list(const IValue& value) {
  if (value.is_list_of(Tag::kInt)) return value.to_int_list().vec();
  if (value.is_list_of(Tag::kDouble)) return value.to_double_list().vec();
  if (value.is_list_of(Tag::kBool)) {
    const ArrayRef<bool> items = value.to_bool_list();
    return std::vector<bool>(items.begin(), items.end());
  }
  Value::List list;
  for (const IValue& item : value.elements()) list.push_back(from_ivalue(item));
  return list;
}

std::vector<SchemaArgument> from_arguments(const std::vector<Argument>& arguments) {
  std::vector<SchemaArgument> list;
  for (const Argument& a : arguments) {
    std::string alias;
    if (a.alias) {
      for (const std::string& set : a.alias->before) alias += (alias.empty() ? "(" : "|") + set;
      alias += a.alias->is_write ? "!)" : ")";
    }
    list.push_back({a.name, to_string(a.type), a.default_value.has_value(), a.default_text,
                    a.kwarg_only, alias});
  }
  return list;
}

template <typename Keys>
std::vector<std::string> names_of(const Keys& keys) {
  std::vector<std::string> names;
  for (const DispatchKey key : keys) names.push_back(to_string(key));
  return names;
}

TrailStep from_hop(const Hop& hop) {
  return {to_string(hop.key), hop.kernel, hop.reason, hop.plugin, hop.op,
          hop.generation,     hop.place,  {},         {}};
}

}  // namespace

runtime::Operand to_operand(const Value& value) {
  runtime::Operand operand;
  if (const Ref* ref = value.get_if<Ref>()) {
    operand.kind = runtime::Operand::Kind::kId;
    operand.id = ref->id;
  } else if (const Refs* refs = value.get_if<Refs>()) {
    operand.kind = runtime::Operand::Kind::kIds;
    operand.ids = refs->ids;
  } else {
    operand.value = to_ivalue(value);
  }
  return operand;
}

Value from_ivalue(const IValue& value) {
  switch (value.tag()) {
    case Tag::kBool:
      return value.to_bool();
    case Tag::kInt:
    case Tag::kSymInt:
      return value.to_int();
    case Tag::kDouble:
    case Tag::kSymFloat:
      return value.to_double();
    case Tag::kComplex:
      return value.to_complex();
    case Tag::kString:
      return std::string(value.to_string_view());
    case Tag::kDtype:
      return Name{Name::Kind::kDtype, std::string(to_string(value.to_dtype()))};
    case Tag::kDevice:
      return Name{Name::Kind::kDevice, to_string(value.to_device())};
    case Tag::kLayout:
      return Name{Name::Kind::kLayout, std::string(to_string(value.to_layout()))};
    case Tag::kMemoryFormat:
      return Name{Name::Kind::kMemoryFormat, std::string(to_string(value.to_memory_format()))};
    case Tag::kList:
    case Tag::kTuple:
      return from_list(value);
    case Tag::kNone:
    case Tag::kTensor:
      return None{};
    default:
      return describe(value);
  }
}

TensorMeta meta_of(Id id, const Tensor& tensor) {
  return {id,
          std::string(to_string(tensor.dtype())),
          tensor.sizes().vec(),
          tensor.strides().vec(),
          to_string(tensor.device()),
          tensor.storage_offset(),
          runtime::contiguous_bytes(tensor)};
}

HostTensor host_copy(const Tensor& tensor) {
  HostTensor host;
  host.dtype = to_string(tensor.dtype());
  host.sizes = tensor.sizes().vec();
  host.device = to_string(tensor.device());
  host.has_data = !tensor.device().is_meta();
  if (host.has_data) {
    host.data.resize(runtime::contiguous_bytes(tensor));
    runtime::read_row_major(runtime::on_host(tensor), 0, host.data.size(), host.data.data());
  }
  return host;
}

OpSchema from_schema(const FunctionSchema& schema) {
  return {schema.full_name(), to_string(schema), from_arguments(schema.arguments),
          from_arguments(schema.returns)};
}

Trail from_explanation(const Explanation& explanation) {
  Trail out;
  out.text = to_string(explanation);
  for (const Hop& hop : explanation.trail) out.steps.push_back(from_hop(hop));
  if (!explanation.fails) out.chosen = to_string(explanation.chosen);
  out.op = explanation.op;
  out.schema = explanation.schema;
  out.arguments = names_of(explanation.arguments.keys());
  out.included = names_of(explanation.included.keys());
  out.excluded = names_of(explanation.excluded.keys());
  out.fallthrough = names_of(explanation.fallthrough.keys());
  out.remaining = names_of(explanation.keys.keys());
  out.fails = explanation.fails;
  return out;
}

Table from_table(const runtime::Table& table) {
  Table out{table.op, table.text, {}};
  for (const TableGroup& group : table.rows) {
    const TableRow& row = group.row;
    TrailStep& step = out.rows.emplace_back(from_hop(
        {table.op, row.key, row.kernel, row.reason, row.plugin, row.generation, row.place}));
    step.keys = names_of(group.keys);
    step.kind = kind_of(row);
  }
  return out;
}

TraceBatch from_batch(const runtime::TraceBatch& batch) {
  TraceBatch out{{}, batch.lost};
  for (const runtime::TracedCall& call : batch.calls) {
    out.lines.push_back({call.text(), call.op->name(), to_string(call.key),
                         std::string(to_string(call.label)), call.depth});
  }
  return out;
}

}  // namespace opyard::client
