#include "opyard/dispatch/registry.h"

#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace opyard {
namespace {

std::string describe_block(const opyard_block& block) {
  std::string_view kind = "OPYARD_LIBRARY_IMPL";
  if (block.kind == OPYARD_BLOCK_DEF) kind = "OPYARD_LIBRARY";
  if (block.kind == OPYARD_BLOCK_FRAGMENT) kind = "OPYARD_LIBRARY_FRAGMENT";
  return str_cat("while processing ", kind, " of namespace '", to_std(block.name_space), "' at ",
                 to_std(block.file), ":", block.line);
}

}  // namespace

Registry::Registry(Dispatcher& dispatcher, bool built_in_fallbacks)
    : dispatcher_(dispatcher), root_(&own_root_) {
  epoch::start();
  MutexLock lock(mutex_);
  fallbacks_.resize(kNumSlots);
  new_entry(names_[""], "");  // index 0: what a handle leads to before it is bound
  if (built_in_fallbacks) put_built_in_fallbacks();
  publish();
}

std::vector<Change> Registry::change(const std::vector<Change>& old, ArrayRef<opyard_block> blocks,
                                     const Origin& origin) {
  std::vector<std::string> warnings;
  std::vector<Change> changes = change_locked(old, blocks, origin, warnings);
  for (const std::string& warning : warnings) log(LogLevel::kWarning, warning);
  tell_listeners();
  return changes;
}

Registry::Batch Registry::new_batch(const Origin& origin) {
  return {origin, ++last_batch_, entries_.size()};
}

std::vector<Change> Registry::change_locked(const std::vector<Change>& old,
                                            ArrayRef<opyard_block> blocks, const Origin& origin,
                                            std::vector<std::string>& warnings) {
  MutexLock lock(mutex_);
  check_bound();
  Batch batch = new_batch(origin);
  try {
    for (size_t i = old.size(); i-- > 0;) vacate(batch, old[i]);
    for (const opyard_block& block : blocks) {
      batch.block = &block;
      add_block(batch, block);
    }
    batch.block = nullptr;
    close_places(batch);
    commit(batch);
  } catch (...) {
    roll_back(batch);
    Error error = current_error();
    if (!batch.block || error.code() == Code::kResourceExhausted) throw error;
    throw Error(error.code(), str_cat(error.message(), " (", describe_block(*batch.block), ")"));
  }
  warnings = std::move(batch.warnings);
  return std::move(batch.changes);
}

Registry::State& Registry::edit(Batch& batch, OperatorEntry& entry) {
  if (entry.saved_by_ != batch.number) {
    batch.states.emplace_back(&entry, entry.state_);
    entry.saved_by_ = batch.number;
  }
  return entry.state_;
}

Registry::Namespaces& Registry::edit_namespaces(Batch& batch) {
  if (!batch.namespaces) batch.namespaces = namespaces_;
  return namespaces_;
}

Fallbacks& Registry::edit_fallbacks(Batch& batch) {
  if (!batch.fallbacks) batch.fallbacks = fallbacks_;
  return fallbacks_;
}

OperatorEntry* Registry::holder_of(const Change& change) noexcept {
  for (OperatorEntry* entry : change.entry->names_->entries) {
    for (const KernelAt& at : entry->state_.kernels) {
      if (at.kernel == change.kernel) return entry;
    }
  }
  return nullptr;
}

// Takes away what was registered and leaves the kernels' places open.
void Registry::vacate(Batch& batch, const Change& change) {
  switch (change.kind) {
    case Change::Kind::kNamespace:
      edit_namespaces(batch).erase(change.name_space);
      return;
    case Change::Kind::kDef:
      std::erase_if(edit(batch, *change.entry).owners,
                    [&](const OperatorEntry::Owner& owner) { return owner.id == change.owner; });
      return;
    case Change::Kind::kFallback: {
      auto& stack = edit_fallbacks(batch)[static_cast<size_t>(slot_of(change.key))];
      batch.vacated.push_back(change.kernel);
      std::replace(stack.begin(), stack.end(), change.kernel, KernelPtr());
      return;
    }
    case Change::Kind::kImpl:
      OperatorEntry* holder = holder_of(change);
      if (!holder) return;
      batch.vacated.push_back(change.kernel);
      for (KernelAt& at : edit(batch, *holder).kernels) {
        if (at.kernel == change.kernel) at.kernel.reset();
      }
  }
}

// Nobody took these places.
void Registry::close_places(Batch& batch) {
  for (const auto& [entry, before] : batch.states) {
    std::erase_if(entry->state_.kernels, [](const KernelAt& at) { return !at.kernel; });
  }
  if (!batch.fallbacks) return;
  for (auto& stack : fallbacks_) std::erase(stack, KernelPtr());
}

void Registry::commit(Batch& batch) {
  std::list<OperatorEvent> events;
  for (const auto& [entry, before] : batch.states) {
    touch(*entry);
    const bool is_defined = entry->state_.is_defined();
    if (is_defined != before.is_defined())
      events.push_back({entry, is_defined, next_listener_, nullptr});
  }
  if (batch.fallbacks) touch_all();
  PublicationPtr next = prepare();
  // From here on nothing fails.
  for (const auto& [entry, before] : batch.states) {
    const State& state = entry->state_;
    if (!state.schema) continue;
    entry->schema_.store(state.schema.get(), std::memory_order_release);
    entry->attributes_.store(state.attributes, std::memory_order_release);
  }
  for (const KernelPtr& kernel : batch.vacated) {
    kernel->registered.store(false, std::memory_order_release);
  }
  for (const Change& change : batch.changes) {
    if (change.kernel) change.kernel->registered.store(true, std::memory_order_release);
  }
  publish(std::move(next));
  events_.splice(events_.end(), events);
}

void Registry::roll_back(Batch& batch) noexcept {
  for (size_t i = batch.states.size(); i-- > 0;) {
    batch.states[i].first->state_ = std::move(batch.states[i].second);
  }
  for (size_t i = batch.meanings.size(); i-- > 0;) {
    batch.meanings[i].first->current = batch.meanings[i].second;
  }
  if (batch.namespaces) namespaces_.swap(*batch.namespaces);
  if (batch.fallbacks) fallbacks_.swap(*batch.fallbacks);
  drop_entries_from(batch.entries_before);
}

void Registry::undo(Change& change) noexcept {
  if (change.kernel) change.kernel->registered.store(false, std::memory_order_release);
  switch (change.kind) {
    case Change::Kind::kNamespace:
      namespaces_.erase(change.name_space);
      return;
    case Change::Kind::kFallback:
      std::erase(fallbacks_[static_cast<size_t>(slot_of(change.key))], change.kernel);
      touch_all();
      return;
    case Change::Kind::kDef: {
      State& state = change.entry->state_;
      std::erase_if(state.owners,
                    [&](const OperatorEntry::Owner& owner) { return owner.id == change.owner; });
      touch(*change.entry);
      if (!state.owners.empty()) return;
      change.farewell.front().newest_listener = next_listener_;
      events_.splice(events_.end(), change.farewell);
      return;
    }
    case Change::Kind::kImpl:
      OperatorEntry* holder = holder_of(change);
      if (!holder) return;
      std::erase_if(holder->state_.kernels,
                    [&](const KernelAt& at) { return at.kernel == change.kernel; });
      touch(*holder);
  }
}

bool Registry::remove(std::vector<Change>& changes) noexcept {
  if (changes.empty()) return true;
  try {
    MutexLock lock(mutex_);
    for (size_t i = changes.size(); i-- > 0;) undo(changes[i]);
    publish();
  } catch (...) {
    log(LogLevel::kError,
        "what was unregistered can still be called: there is no memory for new tables; the next "
        "registration or synchronize() tries again");
    return false;
  }
  tell_listeners();
  return true;
}

void Registry::publish_pending() {
  {
    MutexLock lock(mutex_);
    publish();
  }
  tell_listeners();
}

}  // namespace opyard
