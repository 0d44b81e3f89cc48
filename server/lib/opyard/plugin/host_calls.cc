// Host extension opyard.calls: operators called, and calls passed on, by kernels of the C
// interface.
#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/dispatch/registry.h"
#include "opyard/plugin/host_extensions.h"
#include "opyard/plugin/records.h"

namespace opyard::plugin {
namespace {

constexpr uint32_t kLongestName = 1024;

OperatorHandle handle_of(opyard_op op) {
  OPYARD_CHECK(op != nullptr, kInvalidArgument, "the operator is a null pointer");
  return OperatorHandle(reinterpret_cast<const OperatorEntry*>(op));
}
opyard_op op_of_entry(const OperatorEntry& entry) { return reinterpret_cast<opyard_op>(&entry); }

// The keys and the pinned table of the call that a kernel is in.
Keys keys_of_call(const opyard_call* call) {
  const auto known = take<opyard_call>(call, OPYARD_CALL_SIZE_1_0, "the call");
  OPYARD_CHECK(known.table != nullptr, kInvalidArgument, "the call has no operator table");
  OPYARD_CHECK(is_pinned(), kFailedPrecondition,
               "this thread is in no operator call; a kernel passes its call on before it returns, "
               "on its own thread");
  return {KeySet(known.keys) & KeySet::full(), static_cast<const OperatorTable*>(known.table)};
}

void check_count(uint32_t got, size_t wanted, const void* values, std::string_view what,
                 std::string_view op) {
  OPYARD_CHECK(got == wanted, kInvalidArgument, "the operator '", op, "' has ", wanted, " ", what,
               ", got ", got);
  OPYARD_CHECK(got == 0 || values != nullptr, kInvalidArgument, "the ", what,
               " are a null pointer");
}

// Runs `call(in, out)` on values whose number fits the schema.
template <typename F>
int32_t call_with(const opyard_value* in, opyard_value* out, uint32_t n_out, opyard_status* status,
                  F&& call) noexcept {
  if (out) {
    for (uint32_t i = 0; i < n_out; ++i) out[i] = {OPYARD_NONE, 0, 0};
  }
  auto* results = reinterpret_cast<IValue*>(out);
  const int32_t code = guarded(status, [&] { call(reinterpret_cast<const IValue*>(in), results); });
  if (code != 0 && out) {
    for (uint32_t i = 0; i < n_out; ++i) results[i] = IValue();
  }
  return code;
}

void check_values(const FunctionSchema& schema, std::string_view name, const opyard_value* in,
                  uint32_t n_in, const opyard_value* out, uint32_t n_out) {
  check_count(n_in, schema.arguments.size(), in, "arguments", name);
  check_count(n_out, schema.returns.size(), out, "results", name);
  for (uint32_t i = 0; i < n_in; ++i) {
    OPYARD_CHECK(in[i].tag <= OPYARD_DICT, kInvalidArgument, "argument ", i, " of the operator '",
                 name, "' has the tag ", in[i].tag, ", which does not exist");
  }
}

int32_t find(opyard_str name, opyard_op* op, opyard_status* status) {
  return guarded(status, [&] {
    OPYARD_CHECK(op != nullptr, kInvalidArgument, "the place for the operator is a null pointer");
    const std::string text = take_text(name, kLongestName, "the operator's name");
    *op = op_of_entry(Dispatcher::global().get(text).entry());
  });
}

int32_t schema(opyard_op op, opyard_value* text, opyard_status* status) {
  return guarded(status, [&] {
    OPYARD_CHECK(text != nullptr, kInvalidArgument, "the place for the text is a null pointer");
    *text = IValue(to_string(handle_of(op).schema())).detach();
  });
}

int32_t call(opyard_op op, const opyard_value* in, uint32_t n_in, opyard_value* out, uint32_t n_out,
             opyard_status* status) {
  return call_with(in, out, n_out, status, [&](const IValue* arguments, IValue* results) {
    const OperatorHandle handle = handle_of(op);
    check_values(handle.schema(), handle.name(), in, n_in, out, n_out);
    Dispatcher::global().call_boxed(handle, arguments, n_in, results, n_out);
  });
}

int32_t op_of(const opyard_call* call, opyard_op* op, opyard_status* status) {
  return guarded(status, [&] {
    OPYARD_CHECK(op != nullptr, kInvalidArgument, "the place for the operator is a null pointer");
    *op = op_of_entry(keys_of_call(call).op());
  });
}

int32_t keys_below(const opyard_call* call, opyard_str key, uint64_t* keys, opyard_status* status) {
  return guarded(status, [&] {
    OPYARD_CHECK(keys != nullptr, kInvalidArgument, "the place for the keys is a null pointer");
    const Keys own = keys_of_call(call);
    const std::string name = take_text(key, kLongestName, "the key's name");
    const DispatchKey from = name.empty() ? own.set.highest_priority() : parse_dispatch_key(name);
    OPYARD_CHECK(from != DispatchKey::Undefined && !is_alias_key(from), kInvalidArgument,
                 "there is nothing below the key ", to_string(from));
    *keys = own.below(from).set.bits();
  });
}

int32_t redispatch(const opyard_call* call, uint64_t keys, const opyard_value* in, uint32_t n_in,
                   opyard_value* out, uint32_t n_out, opyard_status* status) {
  return call_with(in, out, n_out, status, [&](const IValue* arguments, IValue* results) {
    const Keys own = keys_of_call(call);
    const OperatorHandle handle(&own.op());
    check_values(handle.schema(), handle.name(), in, n_in, out, n_out);
    invoke_boxed(CallLabel::kRedispatchBoxed, own.with(KeySet(keys) & KeySet::full()), arguments,
                 n_in, results, n_out);
  });
}

}  // namespace

const opyard_calls kHostCalls = {sizeof(opyard_calls), 0,          &find, &schema, &call, &op_of,
                                 &keys_below,          &redispatch};

}  // namespace opyard::plugin
