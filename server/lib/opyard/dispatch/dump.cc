#include <memory>

#include "opyard/base/check.h"
#include "opyard/dispatch/registry.h"

namespace opyard {
namespace {

std::string definition_lines(const FunctionSchema& schema, const Attributes& attributes,
                             const std::string& places) {
  std::string tags;
  for (const std::string& tag : attributes.tags) tags += (tags.empty() ? "tags: " : ", ") + tag;
  return str_cat("schema: ", to_string(schema), "\ndebug: ", places,
                 "\nalias analysis kind: ", to_string(attributes.alias_analysis),
                 attributes.alias_analysis_chosen ? "\n" : " (default)\n", tags,
                 tags.empty() ? "" : "\n");
}

std::string kernel_line(const KernelAt& at, bool active) {
  const Kernel& kernel = *at.kernel;
  return str_cat(to_string(at.key), is_alias_key(at.key) ? "[alias]" : "",
                 active ? "" : " (inactive)", ": ", kernel.debug,
                 " :: ", kernel.schema.empty() ? "(none)" : kernel.schema, " [",
                 kernel.kind == KernelKind::kFallthrough ? " fallthrough" : "",
                 kernel.boxed ? " boxed" : "", kernel.typed ? " unboxed" : "", " ]\n");
}

// The first thing in which a stored table differs from the one that should be there.
std::string difference(const OperatorTable& stored, const OperatorTable& wanted) {
  for (int i = 0; i < kNumSlots; ++i) {
    const Kernel& is = stored.kernel_at(i);
    const Kernel& should = wanted.kernel_at(i);
    const int entry = entry_of_slot(i);
    if (&is != &should || stored.typed[entry] != wanted.typed[entry] ||
        stored.reasons[i] != wanted.reasons[i]) {
      return str_cat("at ", to_string(key_of_slot(i)), ": stored '", is.debug, "' [",
                     to_string(stored.reasons[i]), "], resolved '", should.debug, "' [",
                     to_string(wanted.reasons[i]), "]");
    }
  }
  if (stored.key_positions != wanted.key_positions) return "in the arguments that bring keys";
  bool masks = stored.mask == wanted.mask && stored.per_backend_masks == wanted.per_backend_masks;
  for (int b = 0; b < kNumBackends; ++b) {
    masks = masks && stored.backend_masks[b] == wanted.backend_masks[b];
  }
  return masks ? std::string() : "in the masks of what falls through";
}

}  // namespace

std::string Registry::dump_state(std::string_view name) {
  MutexLock lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end() || !found->second.current) return {};
  return dump_entry(*found->second.current);
}

std::string Registry::dump_entry(const OperatorEntry& entry) {
  const State& state = entry.state_;
  if (state.is_gone()) return {};
  std::string places;
  for (const auto& owner : state.owners) places += (places.empty() ? "" : "; also ") + owner.place;
  std::string text = str_cat("name: ", entry.name(), "\n");
  text += state.is_defined() ? definition_lines(*state.schema, *state.attributes, places)
                             : "schema: (none)\n";
  const KernelAt* previous = nullptr;
  for (const KernelAt& at : state.kernels) {
    text += kernel_line(at, !previous || previous->key != at.key);
    previous = &at;
  }
  return text;
}

std::string Registry::dump_computed_table(const OperatorEntry& entry) {
  MutexLock lock(mutex_);
  return dump_resolved(entry);
}

std::string Registry::dump_resolved(const OperatorEntry& entry) {
  const ActiveKernels active(entry.state_.kernels);
  std::string text;
  for (int i = 0; i < kNumSlots; ++i) {
    const Resolution resolution = resolve(active, fallbacks_, key_of_slot(i));
    if (resolution.reason == Reason::kMissing) continue;
    const Kernel* kernel = resolution.kernel;
    const bool falls = kernel && kernel->kind == KernelKind::kFallthrough;
    text += str_cat(to_string(key_of_slot(i)), ": ", falls ? "fallthrough " : "",
                    kernel ? kernel->debug : "ambiguous_autogradother", " [",
                    to_string(resolution.reason), "]\n");
  }
  return text;
}

void Registry::check_entry(const OperatorEntry& entry) {
  const State& state = entry.state_;
  const std::string who = str_cat("the operator '", entry.name(), "': ");
  if (state.schema) {
    OPYARD_CHECK(state.schema->full_name() == entry.name(), kInternal, who,
                 "it has the schema of another name");
    OPYARD_CHECK(entry.schema() == state.schema.get(), kInternal, who,
                 "readers see another schema");
  }
  const KernelAt* previous = nullptr;
  for (const KernelAt& at : state.kernels) {
    OPYARD_CHECK(at.kernel && at.key != DispatchKey::Undefined && !is_building_block(at.key),
                 kInternal, who, "it has a kernel at ", to_string(at.key));
    OPYARD_CHECK(!previous || previous->key <= at.key, kInternal, who,
                 "its kernels are out of order");
    previous = &at;
  }
  const Root& root = *root_->load();
  const TablePtr wanted = build_table(entry);
  const std::string differs = difference(*root.table(entry.index()), *wanted);
  OPYARD_CHECK(differs.empty(), kInternal, who, "the stored table differs ", differs, "\n",
               dump_entry(entry), dump_resolved(entry));
  const NameIndex::Item* item = root.names->find(entry.name());
  const bool found = item && item->entry == &entry && item->defined == state.is_defined();
  const bool listed = entry.names_->current == &entry && !state.is_gone();
  OPYARD_CHECK(listed ? found : !item || item->entry != &entry, kInternal, who,
               "its name leads elsewhere");
}

void Registry::check_invariants() {
  MutexLock lock(mutex_);
  publish();
  for (const auto& entry : entries_) {
    if (entry->index() != 0) check_entry(*entry);
  }
}

}  // namespace opyard
