#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <string_view>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/base/no_destructor.h"
#include "opyard/dispatch/registry.h"

namespace opyard {

std::atomic<const Root*> global_root{nullptr};

namespace {

// A table that keeps its kernels alive.
struct OwnedTable : OperatorTable {
  std::vector<KernelPtr> alive;
  // The next older kernel at the same key, for those that have one: they may call it.
  struct Covered {
    const Kernel* by;
    KernelPtr kernel;
  };
  std::vector<Covered> covered;
  // The last signature that was found to fit, by its hash, where there are boxed kernels only. Its
  // address may be another's once the caller's file is unmapped.
  mutable std::atomic<size_t> fitting{0};

  static void destroy(const OperatorTable* table) { delete static_cast<const OwnedTable*>(table); }
};

const Kernel& raising_kernel(bool gone, Reason reason) {
  struct Raising {
    Raising() {
      const auto set = [](Kernel& kernel, KernelKind kind, BoxedFn function) {
        kernel.kind = kind;
        kernel.boxed = function;
        kernel.plugin = "opyard";
      };
      set(missing, KernelKind::kMissing, &raise_missing);
      set(ambiguous, KernelKind::kAmbiguous, &raise_ambiguous);
      set(gone, KernelKind::kGone, &raise_gone);
    }
    Kernel missing, ambiguous, gone;
  };
  static NoDestructor<Raising> raising;
  if (gone) return raising->gone;
  return reason == Reason::kAmbiguous ? raising->ambiguous : raising->missing;
}

// What a root keeps alive lies before it, and its tables behind it, in one block of memory.
struct OwnedRoot {
  std::shared_ptr<const NameIndex> index;
  Root root;

  static OwnedRoot* make(size_t tables) {
    void* memory = ::operator new(sizeof(OwnedRoot) + tables * sizeof(const OperatorTable*));
    auto* owned = new (memory) OwnedRoot;
    owned->root.size = tables;
    std::fill_n(owned->tables(), tables, nullptr);
    return owned;
  }
  static OwnedRoot* of(const Root* root) {
    if (!root) return nullptr;
    return reinterpret_cast<OwnedRoot*>(reinterpret_cast<uintptr_t>(root) -
                                        offsetof(OwnedRoot, root));
  }
  static void destroy(OwnedRoot* owned) {
    owned->~OwnedRoot();
    ::operator delete(owned);
  }
  const OperatorTable** tables() { return reinterpret_cast<const OperatorTable**>(this + 1); }
};
static_assert(sizeof(OwnedRoot) == offsetof(OwnedRoot, root) + sizeof(Root));

// Takes a key that falls through out of the masks that it counts for.
void mask_out(OperatorTable& table, DispatchKey key) {
  const Backend backend = backend_of(key);
  const KeySet left = KeySet::full().remove(key);
  for (int b = 0; b < kNumBackends; ++b) {
    if (backend != Backend::kNone && static_cast<int>(backend) != b + 1) continue;
    table.backend_masks[b] = table.backend_masks[b] & left;
  }
}

// Without a backend bit, a key counts as falling through when it does at every backend.
void finish_masks(OperatorTable& table) {
  table.mask = table.backend_masks[0];
  for (const KeySet& mask : table.backend_masks) {
    if (mask != table.backend_masks[0]) table.per_backend_masks = true;
    table.mask = table.mask | mask;
  }
}

}  // namespace

// What a typed call runs. An operator whose C++ signature nobody has told has no typed callers but
// handles that are not bound.
const void* Registry::KnownSignature::form_of(const Kernel& kernel) const {
  if (!mangled) return reinterpret_cast<const void*>(&raise_unbound);
  if (kernel.kind == KernelKind::kPassDown) return pass_down;
  return kernel.typed ? kernel.typed : from_typed;
}

// What one publication replaced: freed together after its grace period.
struct Registry::Replaced {
  OwnedRoot* root = nullptr;
  std::vector<const OperatorTable*> tables{};
  size_t bytes = 0;
  Replaced* next = nullptr;

  static void free(void* pointer) {
    auto* replaced = static_cast<Replaced*>(pointer);
    for (const OperatorTable* table : replaced->tables) OwnedTable::destroy(table);
    if (replaced->root) OwnedRoot::destroy(replaced->root);
    delete replaced;
  }
};

// A root that nobody reads yet.
struct Registry::Publication {
  OwnedRoot* root = nullptr;
  std::vector<TablePtr> built{};
  std::unique_ptr<Replaced> replaced = std::make_unique<Replaced>();
  std::vector<Name*> names{};
  std::vector<NameIndex::Change> meanings{};  // of `names`

  ~Publication() {
    if (root) OwnedRoot::destroy(root);
  }
};

Registry::TablePtr Registry::build_table(const OperatorEntry& entry) {
  auto table = std::make_unique<OwnedTable>();
  table->op = &entry;
  if (entry.state_.schema) table->key_positions = key_positions(*entry.state_.schema);
  std::fill(std::begin(table->kernels), std::end(table->kernels), nullptr);
  for (KeySet& mask : table->backend_masks) mask = KeySet::full();
  const bool gone = entry.state_.is_gone();
  const ActiveKernels active(entry.state_.kernels);
  const KnownSignature signature = signature_of(entry);
  table->signature = may_be_misread(entry, signature) ? nullptr : signature.mangled;
  const auto keep_alive = [&](const Kernel* kernel) {
    if (!table->alive.empty() && table->alive.back().get() == kernel) return;
    table->alive.push_back(KernelPtr::share(kernel));
  };
  for (int i = 0; i < kNumSlots; ++i) {
    const DispatchKey key = key_of_slot(i);
    const Resolution resolution =
        gone ? Resolution{nullptr, Reason::kMissing} : resolve(active, fallbacks_, key);
    const Kernel* kernel = resolution.kernel;
    table->reasons[i] = resolution.reason;
    if (!kernel || (i == 0 && kernel->kind == KernelKind::kFallthrough)) {
      kernel = &raising_kernel(gone, resolution.reason);
    } else {
      keep_alive(kernel);
    }
    if (kernel->kind == KernelKind::kFallthrough) mask_out(*table, key);
    table->kernels[entry_of_slot(i)] = kernel;
    table->typed[entry_of_slot(i)] = signature.form_of(*kernel);
  }
  for (int i = 0; i < kNumEntries; ++i) {
    if (table->kernels[i]) continue;
    table->kernels[i] = table->kernels[0];  // a functionality that names no backend
    table->typed[i] = table->typed[0];
  }
  finish_masks(*table);
  const Registrations& all = entry.state_.kernels;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i].key == all[i + 1].key) {
      table->covered.push_back({all[i].kernel.get(), all[i + 1].kernel});
    }
  }
  if (signature.owner) keep_alive(signature.owner);
  return {table.release(), &OwnedTable::destroy};
}

KernelPtr shadowed_in(const OperatorTable& table, const Kernel& kernel) {
  for (const auto& each : static_cast<const OwnedTable&>(table).covered) {
    if (each.by == &kernel) return each.kernel;
  }
  return {};
}

bool has_kernel(const OperatorTable& table, const Kernel& kernel) noexcept {
  const auto& owned = static_cast<const OwnedTable&>(table);
  const auto is_it = [&](const auto& each) { return each.kernel.get() == &kernel; };
  return std::any_of(owned.covered.begin(), owned.covered.end(), is_it) ||
         std::any_of(owned.alive.begin(), owned.alive.end(),
                     [&](const KernelPtr& each) { return each.get() == &kernel; });
}

namespace {

size_t hash_of(const char* mangled) { return std::hash<std::string_view>()(mangled) | 1; }

}  // namespace

void check_typed_call(const OperatorTable& table, const SignatureInfo& signature) {
  const auto& owned = static_cast<const OwnedTable&>(table);
  if (owned.signature) {
    if (owned.signature == signature.mangled || !std::strcmp(owned.signature, signature.mangled)) {
      return;
    }
  } else if (owned.fitting.load(std::memory_order_relaxed) == hash_of(signature.mangled)) {
    return;
  }
  check_by_value(table.op->name(), signature, "a typed call");
  const FunctionSchema* schema = table.op->schema();
  const std::string wrong = str_cat("the operator '", table.op->name(),
                                    "' was accessed with a wrong signature (mismatch): ");
  const std::string call = str_cat("the C++ call is '", demangle(signature.mangled), "'");
  OPYARD_CHECK(!owned.signature, kInvalidArgument, wrong, "its kernels have '",
               demangle(owned.signature), "', ", call,
               schema ? str_cat("; its schema is '", to_string(*schema), "'") : std::string());
  if (!schema) return;
  const auto difference = schema_difference(*schema, signature.schema());
  OPYARD_CHECK(!difference, kInvalidArgument, wrong, "its schema is '", to_string(*schema), "', ",
               call, ": ", *difference);
  owned.fitting.store(hash_of(signature.mangled), std::memory_order_relaxed);
}

void Registry::touch(OperatorEntry& entry) noexcept {
  if (entry.is_dirty_) return;
  entry.is_dirty_ = true;
  entry.next_dirty_ = std::exchange(dirty_, &entry);
}

void Registry::touch_all() noexcept {
  for (const auto& entry : entries_) {
    if (!entry->state_.is_gone()) touch(*entry);
  }
}

// Entries that were made for a change that was refused: nobody has seen them.
void Registry::drop_entries_from(size_t count) noexcept {
  for (OperatorEntry** link = &dirty_; *link;) {
    OperatorEntry* entry = *link;
    if (entry->index() >= count) {
      *link = entry->next_dirty_;
    } else {
      link = &entry->next_dirty_;
    }
  }
  while (entries_.size() > count) {
    OperatorEntry& last = *entries_.back();
    Name& name = *last.names_;
    name.entries.pop_back();
    if (name.entries.empty()) names_.erase(names_.find(last.name()));
    entries_.pop_back();
  }
}

Registry::PublicationPtr Registry::prepare() {
  PublicationPtr next(new Publication, [](Publication* unpublished) { delete unpublished; });
  OwnedRoot* old = OwnedRoot::of(root_->load(std::memory_order_relaxed));
  next->root = OwnedRoot::make(entries_.size());
  next->replaced->root = old;
  const OperatorTable** tables = next->root->tables();
  if (old) std::copy_n(old->tables(), std::min(old->root.size, next->root->root.size), tables);
  for (const OperatorEntry* entry = dirty_; entry; entry = entry->next_dirty_) {
    next->built.push_back(build_table(*entry));
    const OperatorTable*& place = tables[entry->index()];
    if (place) next->replaced->tables.push_back(place);
    place = next->built.back().get();
    Name* name = entry->names_;
    if (entry->index() == 0 || name->current != entry) continue;
    const bool defined = entry->state_.is_defined();
    const auto item = entry->state_.is_gone() ? NameIndex::Item{} : NameIndex::Item{entry, defined};
    if (item == name->published) continue;
    next->names.push_back(name);
    next->meanings.push_back({entry->name(), item});
  }
  static NoDestructor<NameIndex> nothing;
  next->root->index =
      next->names.empty() && old ? old->index : (old ? *old->index : *nothing).with(next->meanings);
  next->root->root.generation = old ? old->root.generation + 1 : 1;
  next->root->root.names = next->root->index.get();
  next->replaced->bytes = (old ? old->root.size * sizeof(void*) : 0) +
                          next->replaced->tables.size() * sizeof(OwnedTable);
  return next;
}

void Registry::publish(PublicationPtr next) noexcept {
  root_->store(&next->root->root, std::memory_order_release);
  next->root = nullptr;
  for (auto& table : next->built) table.release();
  for (size_t i = 0; i < next->names.size(); ++i) {
    next->names[i]->published = next->meanings[i].item;
  }
  while (dirty_) {
    dirty_->is_dirty_ = false;
    dirty_ = dirty_->next_dirty_;
  }
  if (!next->replaced->root) return;  // the first one
  Replaced* replaced = next->replaced.release();
  replaced->next = std::exchange(replaced_, replaced);
  retire_replaced();
}

// What the reclaimer has no memory to take waits for the next publication: later is always safe.
void Registry::retire_replaced() noexcept {
  try {
    while (replaced_) {
      Replaced* next = replaced_->next;
      epoch::retire(replaced_, &Replaced::free, replaced_->bytes);
      replaced_ = next;
    }
  } catch (...) {
  }
}

void Registry::publish() {
  if (dirty_) publish(prepare());
}

void Registry::make_global() {
  MutexLock lock(mutex_);
  global_root.store(own_root_.load());
  root_ = &global_root;
}

Registry::~Registry() {
  MutexLock lock(mutex_);
  while (replaced_) Replaced::free(std::exchange(replaced_, replaced_->next));
  OwnedRoot* last = OwnedRoot::of(root_->load());
  for (size_t i = 0; i < last->root.size; ++i) OwnedTable::destroy(last->tables()[i]);
  OwnedRoot::destroy(last);
  // A report about pinned threads may be reading the name of an operator that one was in.
  using Entries = decltype(entries_);
  epoch::retire(new Entries(std::move(entries_)),
                [](void* entries) { delete static_cast<Entries*>(entries); });
}

}  // namespace opyard
