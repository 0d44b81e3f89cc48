#include "opyard/runtime/catalog.h"

#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/core/local_keys.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/arguments.h"
#include "opyard/runtime/session.h"

namespace opyard::runtime {
namespace {

constexpr std::string_view kInternal = "kernel::";

// Names that follow a bare name by its overloads.
std::vector<std::string> overloads_of(std::string_view bare) {
  return Dispatcher::global().list(str_cat(bare, "."));
}

OperatorHandle operator_named(std::string_view name) {
  const Dispatcher& dispatcher = Dispatcher::global();
  if (const auto op = dispatcher.find(name)) return *op;
  if (name.find('.') == std::string_view::npos) {
    const std::vector<std::string> overloads = overloads_of(name);
    if (overloads.size() == 1) {
      if (const auto op = dispatcher.find(overloads.front())) return *op;
    }
  }
  raise_unknown_operator(name);
}

KeySet parse_keys(const std::vector<std::string>& names) {
  KeySet keys;
  for (const std::string& name : names) {
    const DispatchKey key = parse_dispatch_key(name);
    OPYARD_CHECK(!is_alias_key(key), kInvalidArgument, "'", name,
                 "' is an alias for several keys and never in a call's key set; name one of them");
    keys = keys | KeySet(key);
  }
  return keys;
}

// The keys that a plain call would have: those of one cpu tensor, where the operator takes tensors
// at all.
KeySet usual_keys(const FunctionSchema& schema) {
  for (const Argument& argument : schema.arguments) {
    if (argument.type.is_tensor_like()) {
      return make_tensor({0}, ScalarType::kFloat32).key_set();
    }
  }
  return {};
}

}  // namespace

bool is_public_operator(std::string_view name) noexcept { return !name.starts_with(kInternal); }

OpPage list_operators(std::string_view prefix, uint32_t page_size, std::string_view after) {
  const Dispatcher& dispatcher = Dispatcher::global();
  std::vector<std::string> names = dispatcher.list(prefix);
  if (!prefix.starts_with(kInternal)) {
    std::erase_if(names, [](const std::string& name) { return !is_public_operator(name); });
  }
  const size_t size = page_size == 0 ? kMaxOpsPerPage : std::min(page_size, kMaxOpsPerPage);
  OPYARD_CHECK(after.empty() || after.starts_with(prefix), kInvalidArgument,
               "the page token does not belong to this prefix");
  OpPage page;
  page.total = static_cast<uint32_t>(names.size());
  auto at = after.empty() ? names.begin() : std::upper_bound(names.begin(), names.end(), after);
  for (; at != names.end() && page.schemas.size() < size; ++at) {
    // An operator may have gone since the names were listed.
    if (const auto op = dispatcher.find(*at)) page.schemas.push_back(op->schema());
  }
  if (at != names.end()) page.next = *(at - 1);
  return page;
}

std::vector<FunctionSchema> schemas_of(std::string_view name) {
  const Dispatcher& dispatcher = Dispatcher::global();
  std::vector<FunctionSchema> schemas;
  if (const auto op = dispatcher.find(name)) schemas.push_back(op->schema());
  if (name.find('.') == std::string_view::npos) {
    for (const std::string& overload : overloads_of(name)) {
      if (const auto op = dispatcher.find(overload)) schemas.push_back(op->schema());
    }
  }
  if (schemas.empty()) raise_unknown_operator(name);
  return schemas;
}

void raise_unknown_operator(std::string_view name, bool look) {
  const std::string_view shown = name.substr(0, 128);
  std::vector<std::string> near;
  const bool bare = name.find('.') == std::string_view::npos;
  if (look && bare) near = overloads_of(name);
  const bool overloaded = !near.empty();
  if (look && !overloaded) near = Dispatcher::global().nearest(shown);
  std::string list;
  for (size_t i = 0; i < near.size() && i < 8; ++i) list += (i == 0 ? "" : ", ") + near[i];
  const std::string hint = near.empty() ? std::string("; list the operators to see all there are")
                           : overloaded ? str_cat("; it has overloads, name one of: ", list)
                                        : str_cat("; the nearest are: ", list);
  throw CallError(Code::kNotFound, str_cat("there is no operator '", shown, "'", hint),
                  "UNKNOWN_OP");
}

Explanation explain_call(const OpCall& call, const std::vector<std::string>& keys,
                         const std::vector<std::string>& include,
                         const std::vector<std::string>& exclude, Session* session) {
  const OperatorHandle op = operator_named(call.op);
  const IncludeKeysGuard included(parse_keys(include));
  const ExcludeKeysGuard excluded(parse_keys(exclude));
  const Dispatcher& dispatcher = Dispatcher::global();
  if (!call.args.empty() || !call.kwargs.empty()) {
    OPYARD_CHECK(keys.empty(), kInvalidArgument,
                 "give either keys or arguments to explain, not both");
    const TensorStore nothing(0);
    const Stack stack =
        bind_operands(op.schema(), call, session == nullptr ? nothing : session->store());
    return dispatcher.explain(op, stack.data(), static_cast<uint32_t>(stack.size()));
  }
  return dispatcher.explain(op, keys.empty() ? usual_keys(op.schema()) : parse_keys(keys));
}

Table dump_table(std::string_view name, TableKind kind, size_t width) {
  const OperatorHandle op = operator_named(name);
  const Dispatcher& dispatcher = Dispatcher::global();
  const std::vector<TableRow> slots = dispatcher.table(op);
  Table table{op.name(), {}, {}};
  if (kind == TableKind::kFolded) {
    table.rows = fold(slots);
    table.text = str_cat(to_string(op.schema()), "\n\n", table_text(table.rows, width));
    return table;
  }
  for (const TableRow& row : slots) {
    if (kind == TableKind::kRegistrations && row.reason != "kernel") continue;
    table.rows.push_back({{row.key}, row});
  }
  if (kind == TableKind::kSlots) {
    table.text = str_cat(to_string(op.schema()), "\n\n", table_text(slots, width));
  } else if (kind == TableKind::kRegistrations) {
    table.text = dispatcher.dump_state(op.name());
  } else {
    table.text = dispatcher.dump_computed_table(op);
  }
  return table;
}

CheckedTables check_tables() {
  const Dispatcher& dispatcher = Dispatcher::global();
  dispatcher.check_invariants();
  const auto operators = static_cast<uint32_t>(dispatcher.list().size());
  return {operators, str_cat(operators,
                             " operators: every stored table is what its registrations resolve "
                             "to\n")};
}

std::vector<std::string> devices_with_kernels() {
  const PinnedRoot pin;
  const Root& root = pin.root();
  std::vector<std::string> devices;
  for (int i = 1; i <= kNumBackends; ++i) {
    const auto backend = static_cast<Backend>(i);
    if (backend == Backend::kMeta) continue;
    const int slot = slot_of(runtime_key(DispatchKey::Dense, backend));
    for (uint32_t op = 1; op < root.size; ++op) {
      const OperatorTable& table = *root.table(op);
      const Kernel& kernel = table.kernel_at(slot);
      // Composites and fallbacks stand at every backend, whoever brought them; what a plugin
      // registered to the backend itself stands for a device.
      const bool direct = table.reasons[slot] == Reason::kKernel;
      if (!direct || kernel.kind != KernelKind::kOrdinary || kernel.plugin == "opyard") continue;
      devices.push_back(to_string(Device(backend)));
      break;
    }
  }
  return devices;
}

}  // namespace opyard::runtime
