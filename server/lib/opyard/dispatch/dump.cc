#include "opyard/base/check.h"
#include "opyard/dispatch/registry.h"

namespace opyard {

std::string Registry::dump_state(std::string_view name) {
  MutexLock lock(mutex_);
  const auto found = current_.find(std::string(name));
  if (found == current_.end()) return {};
  const OperatorEntry& entry = *found->second;
  if (entry.definitions_ == 0 && entry.registrations_.empty()) return {};
  std::string text = str_cat("name: ", entry.name(), "\n");
  if (entry.definitions_ > 0) {
    text += str_cat("schema: ", to_string(*entry.schema()), "\ndebug: ", entry.definition_place_,
                    "\nalias analysis kind: FROM_SCHEMA\n");
  } else {
    text += "schema: (none)\n";
  }
  for (const auto& [key, kernels] : entry.registrations_) {
    const char* inactive = "";
    for (const KernelPtr& kernel : kernels) {
      text += str_cat(to_string(key), is_alias_key(key) ? "[alias]" : "", inactive, ": ",
                      kernel->debug, " :: ", kernel->schema.empty() ? "(none)" : kernel->schema,
                      " [", kernel->kind == KernelKind::kFallthrough ? " fallthrough" : "",
                      kernel->boxed ? " boxed" : "", kernel->typed ? " unboxed" : "", " ]\n");
      inactive = " (inactive)";
    }
  }
  return text;
}

std::string Registry::dump_computed_table(const OperatorEntry& entry) {
  MutexLock lock(mutex_);
  std::string text;
  for (int i = 0; i < kNumSlots; ++i) {
    const Resolution resolution = resolve(entry.registrations_, fallbacks_, key_of_slot(i));
    if (resolution.reason == Reason::kMissing) continue;
    const std::string debug = resolution.kernel ? resolution.kernel->debug : "ambiguous";
    const bool falls = resolution.kernel && resolution.kernel->kind == KernelKind::kFallthrough;
    text += str_cat(to_string(key_of_slot(i)), ": ", falls ? "fallthrough " : "", debug, " [",
                    to_string(resolution.reason), "]\n");
  }
  return text;
}

void Registry::check_invariants() {
  MutexLock lock(mutex_);
  const Root* root = root_->load();
  for (const auto& entry : entries_) {
    const OperatorTable& stored = *root->table(entry->index());
    OPYARD_CHECK(!entry->schema() || entry->schema()->full_name() == entry->name(), kInternal, "'",
                 entry->name(), "' has the schema of another name");
    if (entry->definitions_ == 0 && entry->registrations_.empty()) continue;
    for (int i = 0; i < kNumSlots; ++i) {
      const Resolution wanted = resolve(entry->registrations_, fallbacks_, key_of_slot(i));
      const bool equal = stored.reasons[i] == wanted.reason &&
                         (!wanted.kernel || &stored.kernel_at(i) == wanted.kernel ||
                          (i == 0 && wanted.kernel->kind == KernelKind::kFallthrough));
      OPYARD_CHECK(equal, kInternal, "the stored table of '", entry->name(), "' differs at ",
                   to_string(key_of_slot(i)), ": stored '", to_string(stored.reasons[i]),
                   "', resolved '", to_string(wanted.reason), "'");
    }
  }
}

}  // namespace opyard
