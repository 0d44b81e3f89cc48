#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/dispatch/registry.h"

namespace opyard {

const OperatorEntry* Registry::kernel_op(const OperatorEntry& entry) {
  MutexLock lock(mutex_);
  return entry.kernel_op_;
}

KernelPtr Registry::direct_kernel(const OperatorEntry& entry, DispatchKey key) {
  MutexLock lock(mutex_);
  const auto found = entry.registrations_.find(key);
  if (found != entry.registrations_.end()) return found->second.front();
  return is_runtime_key(key) ? fallbacks_[static_cast<size_t>(slot_of(key))] : KernelPtr();
}

KernelPtr Registry::shadowed_by(const OperatorEntry& entry, const Kernel& kernel) {
  MutexLock lock(mutex_);
  for (const auto& [key, kernels] : entry.registrations_) {
    for (size_t i = 0; i + 1 < kernels.size(); ++i) {
      if (kernels[i].get() == &kernel) return kernels[i + 1];
    }
  }
  return {};
}

std::vector<std::string> Registry::dangling_impls() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : current_) {
    if (entry->definitions_ == 0 && !entry->registrations_.empty()) names.push_back(name);
  }
  return names;
}

uint64_t Registry::add_listener(OperatorListener listener) {
  MutexLock telling(telling_);
  std::vector<OperatorEntry*> defined;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, entry] : current_) {
      if (entry->definitions_ > 0) defined.push_back(entry);
    }
  }
  for (const OperatorEntry* entry : defined) {
    if (listener.defined) listener.defined(OperatorHandle(entry));
  }
  listeners_.emplace(++next_listener_, std::move(listener));
  return next_listener_;
}

void Registry::remove_listener(uint64_t id) noexcept {
  MutexLock telling(telling_);
  listeners_.erase(id);
}

void Registry::tell_listeners() {
  MutexLock telling(telling_);
  std::vector<std::pair<OperatorEntry*, bool>> events;
  {
    MutexLock lock(mutex_);
    events.swap(events_);
  }
  for (const auto& [entry, is_defined] : events) {
    for (const auto& [id, listener] : listeners_) {
      const auto& told = is_defined ? listener.defined : listener.undefined;
      try {
        if (told) told(OperatorHandle(entry));
      } catch (...) {
        log(LogLevel::kError,
            str_cat("a listener failed for '", entry->name(), "': ", current_error().message()));
      }
    }
  }
}

void Registry::check_bound() {
  const size_t waiting = epoch::retired_bytes();
  if (waiting <= epoch::retired_bound()) return;
  std::string blamed = "nobody; the reclaimer is behind";
  const auto pinned = epoch::pinned_threads();
  if (!pinned.empty()) {
    const auto* op = static_cast<const OperatorEntry*>(pinned.front().holder);  // never freed
    blamed = str_cat("thread ", pinned.front().thread_id, ", in ",
                     op ? str_cat("the operator '", op->name(), "'") : "a frame", " for at least ",
                     pinned.front().age_ns / 1000000, " ms");
  }
  raise(Code::kResourceExhausted, str_cat("registration is refused: ", waiting,
                                          " bytes of replaced tables wait to be freed, "
                                          "the bound is ",
                                          epoch::retired_bound(), ". They are held back by ",
                                          blamed, "; end that call, then try again"));
}

}  // namespace opyard
