#include <utility>

#include "opyard/dispatch/registry.h"

namespace opyard {

std::atomic<const Root*> global_root{nullptr};

namespace {

// A table that keeps its kernels alive.
struct OwnedTable : OperatorTable {
  std::vector<KernelPtr> kernels;
};

// A root with the array and the index that it points to.
struct OwnedRoot : Root {
  std::vector<const OperatorTable*> table_list;
  std::shared_ptr<const NameIndex> index;
};

// What one publication replaced: freed together after its grace period.
struct Replaced {
  const OwnedRoot* root;
  std::vector<const OwnedTable*> tables;
};

void free_replaced(void* pointer) {
  auto* replaced = static_cast<Replaced*>(pointer);
  for (const OwnedTable* table : replaced->tables) delete table;
  delete replaced->root;
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
  for (KeySet& mask : table->backend_masks) mask = KeySet::full();
  const bool gone = entry.definitions_ == 0 && entry.registrations_.empty();
  for (int i = 0; i < kNumSlots; ++i) {
    const DispatchKey key = key_of_slot(i);
    const Resolution resolution =
        gone ? Resolution{gone_.get(), Reason::kMissing}
             : resolve(entry.registrations_, fallbacks_, key);
    const Kernel* kernel = resolution.kernel;
    table->reasons[i] = resolution.reason;
    if (!kernel || (i == 0 && kernel->kind == KernelKind::kFallthrough)) {
      kernel = (resolution.reason == Reason::kAmbiguous ? ambiguous_ : missing_).get();
    }
    if (kernel->kind == KernelKind::kFallthrough) mask_out(*table, key);
    const bool passes_down = kernel->kind == KernelKind::kPassDown;
    table->slots[i] = {passes_down ? entry.signature_.pass_down : kernel->typed, kernel};
    if (table->kernels.empty() || table->kernels.back().get() != kernel) {
      table->kernels.push_back(KernelPtr::share(kernel));
    }
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
  const auto* old = static_cast<const OwnedRoot*>(root_->load(std::memory_order_relaxed));
  auto* replaced = new Replaced{old, {}};
  auto* next = new OwnedRoot;
  if (old) next->table_list = old->table_list;
  next->table_list.resize(entries_.size(), nullptr);
  for (const OperatorEntry* entry : std::exchange(dirty_, {})) {
    const OperatorTable*& place = next->table_list[entry->index()];
    if (place) replaced->tables.push_back(static_cast<const OwnedTable*>(place));
    place = build_table(*entry);
  }
  next->index = !old || names_changed_ ? build_index() : old->index;
  names_changed_ = false;
  next->generation = old ? old->generation + 1 : 1;
  next->size = static_cast<uint32_t>(next->table_list.size());
  next->tables = next->table_list.data();
  next->names = next->index.get();
  root_->store(next, std::memory_order_release);
  if (old) {
    epoch::retire(replaced, &free_replaced);
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
  const auto* last = static_cast<const OwnedRoot*>(root_->load());
  for (const OperatorTable* table : last->table_list) {
    delete static_cast<const OwnedTable*>(table);
  }
  delete last;
}

}  // namespace opyard
