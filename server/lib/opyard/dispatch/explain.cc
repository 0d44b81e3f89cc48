#include "opyard/dispatch/explain.h"

#include "opyard/base/check.h"
#include "opyard/dispatch/key_names.h"
#include "opyard/dispatch/registry.h"

namespace opyard {
namespace {

// More hops than any chain of fallbacks and wrappers has.
constexpr int kMaxHops = 8;

std::string_view kind_text(KernelKind kind) {
  switch (kind) {
    case KernelKind::kMissing:
      return "no kernel";
    case KernelKind::kAmbiguous:
      return "ambiguous";
    case KernelKind::kGone:
      return "no longer registered";
    default:
      return "";
  }
}

Hop hop_at(const OperatorTable& table, KeySet keys) {
  const int slot = keys.slot();
  const Kernel& kernel = table.kernel(keys);
  const std::string_view kind = kind_text(kernel.kind);
  Hop hop{table.op->name(),
          key_of_slot(slot),
          std::string(kind),
          std::string(to_string(table.reasons[slot])),
          {},
          0,
          {}};
  if (!kind.empty()) return hop;
  hop.kernel = kernel.debug;
  hop.plugin = kernel.plugin;
  hop.generation = kernel.generation;
  if (!kernel.built_in) hop.place = kernel.place;
  return hop;
}

std::string hop_text(const Hop& hop) {
  std::string text =
      str_cat(hop.op, " at ", to_string(hop.key), " [", hop.reason, "] ", hop.kernel);
  if (!hop.place.empty() && hop.place != hop.kernel) text += ", " + hop.place;
  if (hop.plugin.empty()) return text;
  text += " (" + hop.plugin;
  return text + (hop.generation ? str_cat(", generation ", hop.generation, ")") : ")");
}

}  // namespace

Explanation Dispatcher::explain(OperatorHandle op, KeySet argument_keys) const {
  const PinnedRoot pin;
  const OperatorTable* table = table_of(op.entry());
  Explanation result;
  result.op = op.name();
  if (op.entry().schema()) result.schema = to_string(*op.entry().schema());
  result.arguments = argument_keys;
  result.included = included_keys();
  result.excluded = excluded_keys();
  const KeySet after_thread = (argument_keys | result.included) - result.excluded;
  result.keys = table->masked(after_thread);
  result.fallthrough = KeySet(after_thread.bits() & ~result.keys.bits());
  result.chosen = key_of_slot(result.keys.slot());
  KeySet keys = result.keys;
  for (int i = 0; i < kMaxHops; ++i) {
    result.trail.push_back(hop_at(*table, keys));
    const Kernel& kernel = table->kernel(keys);
    result.fails = kernel.kind == KernelKind::kMissing || kernel.kind == KernelKind::kAmbiguous ||
                   kernel.kind == KernelKind::kGone || kernel.boxed == &raise_meta;
    const OperatorEntry* internal = registry_->kernel_op(*table->op);
    if (kernel.kind == KernelKind::kPassDown) {
      keys = keys - kAutogradKeys;
    } else if (internal && kernel.is_wrapper) {
      table = table_of(*internal);
    } else {
      break;
    }
  }
  return result;
}

Explanation Dispatcher::explain(OperatorHandle op, const IValue* in, uint32_t n_in) const {
  const PinnedRoot pin;
  return explain(op, boxed_keys(table_of(op.entry())->key_positions, in, n_in));
}

std::string to_string(const Explanation& explanation) {
  std::string text = str_cat(
      explanation.op, "\n  schema       ", explanation.schema, "\n  arguments    ",
      key_list_text(explanation.arguments), "\n  included     ",
      key_list_text(explanation.included), "\n  excluded     ", key_list_text(explanation.excluded),
      "\n  fallthrough  ", key_list_text(explanation.fallthrough), "\n  keys         ",
      key_list_text(explanation.keys), "\n  chosen       ", to_string(explanation.chosen), "\n");
  int number = 1;
  for (const Hop& hop : explanation.trail)
    text += str_cat("  ", number++, ". ", hop_text(hop), "\n");
  if (explanation.fails) text += "  the call raises an error\n";
  return text;
}

std::vector<TableRow> Dispatcher::table(OperatorHandle op) const {
  const PinnedRoot pin;
  const OperatorTable* table = table_of(op.entry());
  std::vector<TableRow> rows;
  for (int i = 0; i < kNumSlots; ++i) {
    const Kernel& kernel = table->kernel_at(i);
    rows.push_back({key_of_slot(i), kernel.kind, kernel.is_fallback, kernel.built_in, kernel.debug,
                    std::string(to_string(table->reasons[i])), kernel.plugin, kernel.generation,
                    kernel.place, kernel.boxed == &raise_meta});
  }
  return rows;
}

}  // namespace opyard
