#include "opyard/runtime/arguments.h"

#include <algorithm>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/base/nearest.h"

namespace opyard::runtime {
namespace {

[[noreturn]] void refuse(const std::string& parameter, std::string message) {
  throw CallError(Code::kInvalidArgument, std::move(message), "BAD_ARGUMENT")
      .with_argument(parameter);
}

// As much of a value's description as an error quotes: the value may be a text of 64 KiB.
constexpr size_t kQuoted = 128;

[[noreturn]] void wrong_type(const Argument& parameter, const IValue& got) {
  std::string shown = describe(got);
  if (shown.size() > kQuoted) shown.replace(kQuoted, std::string::npos, "…");
  refuse(parameter.name, str_cat("the argument '", parameter.name, "': got ", shown, ", wanted ",
                                 to_string(parameter.type)));
}

// What `read` makes of a value; the usual refusal where it raises.
template <typename Read>
IValue read_or_refuse(const Argument& parameter, const IValue& value, Read read) {
  try {
    return read();
  } catch (const Error&) {
    wrong_type(parameter, value);
  }
}

// What a text stands for where a dtype, device, layout or memory format is wanted.
IValue parse_text(const Argument& parameter, const IValue& value) {
  const std::string_view text = value.to_string_view();
  Layout layout = Layout::kStrided;
  MemoryFormat format = MemoryFormat::kContiguous;
  switch (parameter.type.base) {
    case BaseType::kScalarType:
      if (const auto type = try_parse_scalar_type(text)) return *type;
      break;
    case BaseType::kDevice:
      try {
        return Device::parse(text);
      } catch (const Error& error) {
        refuse(parameter.name, str_cat("the argument '", parameter.name, "': ", error.message()));
      }
    case BaseType::kLayout:
      if (try_parse(text, &layout)) return layout;
      break;
    case BaseType::kMemoryFormat:
      if (try_parse(text, &format)) return format;
      break;
    default:
      break;
  }
  wrong_type(parameter, value);
}

IValue require(const Argument& parameter, IValue value, bool fits) {
  if (!fits) wrong_type(parameter, value);
  return value;
}

// One value, or one element of a list.
IValue fit_single(const Argument& parameter, IValue value) {
  if (value.is_none()) {
    return require(parameter, std::move(value), parameter.type.element_optional);
  }
  switch (parameter.type.base) {
    case BaseType::kTensor:
      if (value.is_scalar()) return wrapped_number(value.to_scalar());
      return require(parameter, value, value.is(Tag::kTensor) && value.to_tensor().defined());
    case BaseType::kInt:
    case BaseType::kSymInt:
      return require(parameter, value, value.is(Tag::kInt));
    case BaseType::kFloat:
    case BaseType::kSymFloat:
      if (value.is(Tag::kInt)) return value.to_double();
      return require(parameter, value, value.is(Tag::kDouble));
    case BaseType::kBool:
    case BaseType::kSymBool:
      return require(parameter, value, value.is(Tag::kBool));
    case BaseType::kComplex:
    case BaseType::kScalar:
      return require(parameter, value, value.is_scalar());
    case BaseType::kString:
      return require(parameter, value, value.is(Tag::kString));
    case BaseType::kScalarType:
      if (value.is(Tag::kString)) break;
      return read_or_refuse(parameter, value, [&] { return value.to_dtype(); });
    case BaseType::kDevice:
      if (value.is(Tag::kDevice)) return value;
      break;
    case BaseType::kLayout:
      if (value.is(Tag::kLayout)) return value;
      break;
    case BaseType::kMemoryFormat:
      if (value.is(Tag::kMemoryFormat)) return value;
      break;
    case BaseType::kGenerator:
      return require(parameter, value, value.is(Tag::kGenerator));
    case BaseType::kAny:
      return value;
    default:
      wrong_type(parameter, value);
  }
  if (!value.is(Tag::kString)) wrong_type(parameter, value);
  return parse_text(parameter, value);
}

// A list in the contiguous form that its type has: kernels read int[], float[], bool[] and Tensor[]
// in place.
IValue pack(const Argument& parameter, std::vector<IValue> items) {
  const SchemaType& type = parameter.type;
  if (type.element_optional) return IValue::list(items);
  switch (type.base) {
    case BaseType::kTensor: {
      std::vector<Tensor> tensors;
      for (const IValue& item : items) tensors.push_back(item.to_tensor());
      return tensors;
    }
    case BaseType::kInt:
    case BaseType::kSymInt: {
      std::vector<int64_t> ints;
      for (const IValue& item : items) ints.push_back(item.to_int());
      return ints;
    }
    case BaseType::kFloat:
    case BaseType::kSymFloat: {
      std::vector<double> doubles;
      for (const IValue& item : items) doubles.push_back(item.to_double());
      return ArrayRef<double>(doubles);
    }
    case BaseType::kBool: {
      const auto bools = std::make_unique<bool[]>(items.size());
      for (size_t i = 0; i < items.size(); ++i) bools[i] = items[i].to_bool();
      return ArrayRef<bool>(bools.get(), items.size());
    }
    default:
      return IValue::list(items);
  }
}

IValue fit_list(const Argument& parameter, IValue value) {
  const SchemaType& type = parameter.type;
  if (value.is_none()) return require(parameter, std::move(value), type.list_optional);
  if (!value.is(Tag::kList)) {
    if (type.list_size < 0) wrong_type(parameter, value);
    IValue one = fit_single(parameter, std::move(value));
    return pack(parameter, std::vector<IValue>(static_cast<size_t>(type.list_size), one));
  }
  const bool ints = type.base == BaseType::kInt || type.base == BaseType::kSymInt;
  if (ints && !type.element_optional && value.is_list_of(Tag::kInt)) return value;
  std::vector<IValue> items = value.elements();
  for (size_t i = 0; i < items.size(); ++i) {
    try {
      items[i] = fit_single(parameter, std::move(items[i]));
    } catch (CallError& error) {
      error.prefix(str_cat("element ", i));
      throw;
    }
  }
  return pack(parameter, std::move(items));
}

IValue tensors_of(const Argument& parameter, const std::vector<Id>& ids, const TensorStore& store) {
  if (!parameter.type.is_list || !parameter.type.is_tensor_like()) {
    refuse(parameter.name, str_cat("the argument '", parameter.name, "': got a list of ",
                                   ids.size(), " tensors, wanted ", to_string(parameter.type)));
  }
  std::vector<IValue> items;
  items.reserve(ids.size());
  for (const Id id : ids) items.push_back(id == 0 ? IValue() : store.at(id));
  return IValue::list(items);
}

IValue operand_value(const Argument& parameter, const Operand& operand, const TensorStore& store) {
  try {
    switch (operand.kind) {
      case Operand::Kind::kId:
        return store.at(operand.id);
      case Operand::Kind::kIds:
        return tensors_of(parameter, operand.ids, store);
      case Operand::Kind::kValue:
        break;
    }
    return operand.value;
  } catch (CallError& error) {
    if (error.argument().empty()) {
      error.with_argument(parameter.name).prefix(str_cat("the argument '", parameter.name, "'"));
    }
    throw;
  }
}

std::string signature(const FunctionSchema& schema) {
  return str_cat("the schema is ", to_string(schema));
}

size_t positional_count(const FunctionSchema& schema) {
  return static_cast<size_t>(
      std::count_if(schema.arguments.begin(), schema.arguments.end(),
                    [](const Argument& argument) { return !argument.kwarg_only; }));
}

[[noreturn]] void unknown_parameter(const FunctionSchema& schema, std::string_view name) {
  std::vector<std::string> names;
  for (const Argument& argument : schema.arguments) names.push_back(argument.name);
  const std::vector<std::string> near = nearest_names(name, names, 1);
  refuse(std::string(name.substr(0, 64)),
         str_cat("there is no parameter '", name.substr(0, 64), "'",
                 near.empty() ? "" : str_cat(", did you mean '", near[0], "'?"), "; ",
                 signature(schema)));
}

}  // namespace

IValue fit_value(const Argument& parameter, IValue value) {
  return parameter.type.is_list ? fit_list(parameter, std::move(value))
                                : fit_single(parameter, std::move(value));
}

Stack bind_operands(const FunctionSchema& schema, const OpCall& call, const TensorStore& store) {
  const size_t count = schema.arguments.size();
  const size_t positional = positional_count(schema);
  if (call.args.size() > positional) {
    throw CallError(Code::kInvalidArgument,
                    str_cat("got ", call.args.size(), " arguments by position, wanted at most ",
                            positional, "; ", signature(schema)),
                    "BAD_ARGUMENT_COUNT");
  }
  Stack stack(count);
  std::vector<bool> given(count, false);
  const auto take = [&](size_t at, const Operand& operand) {
    const Argument& parameter = schema.arguments[at];
    if (given[at]) {
      refuse(parameter.name,
             str_cat("the argument '", parameter.name, "' is given twice; ", signature(schema)));
    }
    given[at] = true;
    stack[at] = fit_value(parameter, operand_value(parameter, operand, store));
  };
  for (size_t i = 0; i < call.args.size(); ++i) take(i, call.args[i]);
  for (const NamedOperand& named : call.kwargs) {
    const int at = schema.argument_index(named.name);
    if (at < 0) unknown_parameter(schema, named.name);
    take(static_cast<size_t>(at), named.operand);
  }
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    const Argument& parameter = schema.arguments[i];
    if (!parameter.default_value) {
      throw CallError(Code::kInvalidArgument,
                      str_cat("the argument '", parameter.name, "' (", to_string(parameter.type),
                              ") is missing; ", signature(schema)),
                      "BAD_ARGUMENT_COUNT")
          .with_argument(parameter.name);
    }
    stack[i] = *parameter.default_value;
  }
  return stack;
}

}  // namespace opyard::runtime
