#include "opyard/dispatch/boxing.h"

#include "opyard/base/check.h"
#include "opyard/dispatch/operator_entry.h"
#include "opyard/dispatch/value_types.h"

namespace opyard {
namespace detail {

SchemaType optional_of(SchemaType element) {
  (element.is_list ? element.list_optional : element.element_optional) = true;
  return element;
}

SchemaType list_of(SchemaType element) {
  SchemaType list;
  if (element.is_list) {
    list.base = BaseType::kList;
    list.inner.push_back(std::move(element));
  } else {
    list = std::move(element);
  }
  list.is_list = true;
  return list;
}

SchemaType dict_of(SchemaType key, SchemaType value) {
  SchemaType dict;
  dict.base = BaseType::kDict;
  dict.inner = {std::move(key), std::move(value)};
  return dict;
}

ArrayRef<IValue> list_elements(const IValue& list, std::vector<IValue>* room) {
  OPYARD_CHECK(list.is(Tag::kList), kInvalidArgument, "got ", describe(list),
               " where a list is wanted");
  if (list.is_list_of(Tag::kNone)) return list.to_list();
  *room = list.elements();
  return *room;
}

void raise_list_size(const IValue& got, size_t wanted) {
  raise(Code::kInvalidArgument,
        str_cat("got ", describe(got), " where ", wanted, " elements are wanted"));
}

void raise_repeated_key(const IValue& key) {
  raise(Code::kInvalidArgument, str_cat("the key ", describe(key), " stands twice in a dict"));
}

}  // namespace detail

namespace {

// What went wrong inside of a list or dict, as the error being handled says.
std::string inner_reason(const IValue& got) {
  if (!got.is(Tag::kList) && !got.is(Tag::kDict)) return {};
  if (!std::current_exception()) return {};
  return str_cat(" (", current_error().message(), ")");
}

std::string_view hint(const IValue& got) {
  const bool symbolic = got.is(Tag::kSymInt) || got.is(Tag::kSymFloat) || got.is(Tag::kSymBool);
  return symbolic ? "; there are no symbolic numbers yet, pass a concrete one" : "";
}

// " 'self'" of an operator that is defined.
std::string argument_name(Keys keys, uint32_t position) {
  const FunctionSchema* schema = keys.table ? keys.op().schema() : nullptr;
  if (!schema || position >= schema->arguments.size()) return {};
  return str_cat(" '", schema->arguments[position].name, "'");
}

std::string operator_name(Keys keys) { return keys.table ? keys.op().name() : std::string(); }

}  // namespace

void raise_count(Keys keys, uint32_t got, uint32_t wanted, uint32_t n_out, uint32_t wanted_out) {
  const std::string name = operator_name(keys);
  const std::string message = got != wanted
                                  ? str_cat("takes ", wanted, " arguments, got ", got)
                                  : str_cat("gives ", wanted_out, " results, got room for ", n_out);
  throw Error(Code::kInvalidArgument, str_cat("the operator '", name, "' ", message)).with_op(name);
}

void raise_argument(const IValue& got, Keys keys, uint32_t position, SchemaType (*wanted)()) {
  const std::string name = operator_name(keys);
  throw Error(Code::kInvalidArgument,
              str_cat("the operator '", name, "' expected a value of type ", to_string(wanted()),
                      " for the argument", argument_name(keys, position), " at position ", position,
                      ", got ", describe(got), inner_reason(got), hint(got)))
      .with_op(name);
}

namespace {

[[noreturn]] void raise_wrong_result(const IValue& got, const Kernel& kernel, Keys keys,
                                     uint32_t position, const SchemaType& wanted) {
  const std::string name = operator_name(keys);
  const std::string key = to_string(keys.set.highest_priority());
  throw Error(Code::kInternal,
              str_cat("the kernel of '", name, "' at ", key, " (", kernel.debug, ") left ",
                      describe(got), inner_reason(got), " as the result at position ", position,
                      ", wanted a value of type ", to_string(wanted)))
      .with_op(name)
      .with_key(key);
}

}  // namespace

void raise_result(const IValue& got, const Kernel& kernel, Keys keys, uint32_t position,
                  SchemaType (*wanted)()) {
  // What only passes calls on left nothing itself.
  const Kernel* culprit = &kernel;
  while (culprit->kind == KernelKind::kPassDown && keys.table && keys.set.has_any(kAutogradKeys)) {
    keys = keys.with(keys.set - kAutogradKeys);
    culprit = &keys.table->kernel(keys.set);
  }
  raise_wrong_result(got, *culprit, keys, position, wanted());
}

void check_results(const Kernel& kernel, Keys keys, const IValue* out, uint32_t n_out) {
  const FunctionSchema* schema = keys.op().schema();
  if (!schema) return;
  for (uint32_t i = 0; i < n_out && i < schema->returns.size(); ++i) {
    const SchemaType& wanted = schema->returns[i].type;
    if (!has_type(out[i], wanted)) raise_wrong_result(out[i], kernel, keys, i, wanted);
  }
}

}  // namespace opyard
