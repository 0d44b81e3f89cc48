#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "opyard/dispatch/registry.h"

namespace opyard {

std::atomic<const Root*> global_root{nullptr};

namespace {

// A table that keeps its kernels alive.
struct OwnedTable : OperatorTable {
  std::vector<KernelPtr> alive;
  std::string signature_name;
};

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

// What one publication replaced: freed together after its grace period.
struct Replaced {
  OwnedRoot* root;
  std::vector<const OwnedTable*> tables;
};

void free_replaced(void* pointer) {
  auto* replaced = static_cast<Replaced*>(pointer);
  for (const OwnedTable* table : replaced->tables) delete table;
  OwnedRoot::destroy(replaced->root);
  delete replaced;
}

// Takes a key that falls through out of the masks that it counts for.
void mask_out(OperatorTable& table, DispatchKey key) {
  const Backend backend = backend_of(key);
  for (int b = 0; b < kNumBackends; ++b) {
    if (backend != Backend::kNone && static_cast<int>(backend) != b + 1) continue;
    table.backend_masks[b] = table.backend_masks[b].remove(key);
  }
}

// What a typed call runs. An operator whose C++ signature nobody has told has no typed callers but
// handles that are not bound.
const void* typed_form(const SignatureInfo& signature, const Kernel& kernel) {
  if (!signature.mangled) return reinterpret_cast<const void*>(&raise_unbound);
  if (kernel.kind == KernelKind::kPassDown) return signature.pass_down;
  return kernel.typed ? kernel.typed : signature.from_typed;
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

OperatorTable* Registry::build_table(const OperatorEntry& entry) {
  auto* table = new OwnedTable;
  table->op = &entry;
  table->key_positions = entry.key_positions();
  if (entry.signature_.mangled && !may_be_misread(entry)) {
    table->signature_name = entry.signature_.mangled;
    table->signature = table->signature_name.c_str();
  }
  std::fill(std::begin(table->kernels), std::end(table->kernels), nullptr);
  for (KeySet& mask : table->backend_masks) mask = KeySet::full();
  const bool gone = entry.definitions_ == 0 && entry.registrations_.empty();
  for (int i = 0; i < kNumSlots; ++i) {
    const DispatchKey key = key_of_slot(i);
    const Resolution resolution = gone ? Resolution{gone_.get(), Reason::kMissing}
                                       : resolve(entry.registrations_, fallbacks_, key);
    const Kernel* kernel = resolution.kernel;
    table->reasons[i] = resolution.reason;
    if (!kernel || (i == 0 && kernel->kind == KernelKind::kFallthrough)) {
      kernel = (resolution.reason == Reason::kAmbiguous ? ambiguous_ : missing_).get();
    }
    if (kernel->kind == KernelKind::kFallthrough) mask_out(*table, key);
    table->kernels[entry_of_slot(i)] = kernel;
    table->typed[entry_of_slot(i)] = typed_form(entry.signature_, *kernel);
    if (table->alive.empty() || table->alive.back().get() != kernel) {
      table->alive.push_back(KernelPtr::share(kernel));
    }
  }
  for (int i = 0; i < kNumEntries; ++i) {
    if (table->kernels[i]) continue;
    table->kernels[i] = table->kernels[0];  // a functionality that names no backend
    table->typed[i] = table->typed[0];
  }
  finish_masks(*table);
  return table;
}

void Registry::touch_all() {
  for (const auto& entry : entries_) dirty_.insert(entry.get());
}

std::shared_ptr<const NameIndex> Registry::build_index() {
  auto index = std::make_shared<NameIndex>();
  for (const auto& [name, entry] : current_) {
    const bool defined = entry->definitions_ > 0;
    if (defined || !entry->registrations_.empty()) {
      index->items_.emplace(entry->name(), NameIndex::Item{entry, defined});
    }
  }
  return index;
}

void Registry::publish() {
  if (dirty_.empty() && !names_changed_) return;
  const Root* current = root_->load(std::memory_order_relaxed);
  OwnedRoot* old = current ? OwnedRoot::of(current) : nullptr;
  auto* replaced = new Replaced{old, {}};
  OwnedRoot* next = OwnedRoot::make(entries_.size());
  if (old) std::copy_n(old->tables(), old->root.size, next->tables());
  for (const OperatorEntry* entry : dirty_) {
    const OperatorTable*& place = next->tables()[entry->index()];
    if (place) replaced->tables.push_back(static_cast<const OwnedTable*>(place));
    place = build_table(*entry);
  }
  dirty_.clear();
  next->index = !old || names_changed_ ? build_index() : old->index;
  names_changed_ = false;
  next->root.generation = old ? old->root.generation + 1 : 1;
  next->root.names = next->index.get();
  root_->store(&next->root, std::memory_order_release);
  if (old) {
    const size_t bytes =
        old->root.size * sizeof(void*) + replaced->tables.size() * sizeof(OwnedTable);
    epoch::retire(replaced, &free_replaced, bytes);
  } else {
    delete replaced;
  }
}

void Registry::make_global() {
  MutexLock lock(mutex_);
  global_root.store(own_root_.load());
  root_ = &global_root;
}

Registry::~Registry() {
  MutexLock lock(mutex_);
  OwnedRoot* last = OwnedRoot::of(root_->load());
  for (size_t i = 0; i < last->root.size; ++i)
    delete static_cast<const OwnedTable*>(last->tables()[i]);
  OwnedRoot::destroy(last);
  // A report about pinned threads may be reading the name of an operator that one was in.
  using Entries = decltype(entries_);
  epoch::retire(new Entries(std::move(entries_)),
                [](void* entries) { delete static_cast<Entries*>(entries); });
}

}  // namespace opyard
