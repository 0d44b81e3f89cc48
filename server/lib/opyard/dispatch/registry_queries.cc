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
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    const auto shared = std::make_shared<const OperatorListener>(std::move(listener));
    id = ++next_listener_;
    for (const auto& [name, entry] : current_) {
      if (entry->definitions_ > 0) events_.push_back({entry, true, id, shared});
    }
    listeners_.emplace(id, shared);
  }
  tell_listeners();
  return id;
}

void Registry::remove_listener(uint64_t id) noexcept {
  MutexLock lock(mutex_);
  listeners_.erase(id);
}

bool Registry::take_events(std::vector<Event>& events, Listeners& listeners) {
  MutexLock lock(mutex_);
  if (telling_ || events_.empty()) return false;
  telling_ = true;
  events.swap(events_);
  listeners = listeners_;
  return true;
}

void Registry::tell_listeners() {
  for (;;) {
    std::vector<Event> events;
    Listeners listeners;
    if (!take_events(events, listeners)) return;
    for (const Event& event : events) {
      for (const auto& [id, listener] : listeners) {
        if (id > event.newest_listener || (event.only && event.only != listener)) continue;
        const auto& told = event.is_defined ? listener->defined : listener->undefined;
        try {
          if (told) told(OperatorHandle(event.entry));
        } catch (...) {
          log(LogLevel::kError, str_cat("a listener failed for '", event.entry->name(),
                                        "': ", current_error().message()));
        }
      }
    }
    MutexLock lock(mutex_);
    telling_ = false;
  }
}

void Registry::check_bound() {
  const size_t waiting = epoch::retired_bytes();
  if (waiting <= epoch::retired_bound()) return;
  std::string blamed = "nobody; the reclaimer is behind";
  const PinnedRoot pin;  // keeps the names of what others are in
  auto pinned = epoch::pinned_threads();
  std::erase_if(pinned, [](const epoch::Blame& each) { return each.epochs_behind == 0; });
  if (!pinned.empty()) {
    const std::string_view op = pinned.front().holder ? pinned.front().holder : "";
    blamed =
        str_cat("thread ", pinned.front().thread_id, ", in ",
                op.empty() ? "a frame" : str_cat("the operator '", op.substr(0, op.find('(')), "'"),
                " for at least ", pinned.front().age_ns / 1000000, " ms");
  }
  raise(Code::kResourceExhausted, str_cat("registration is refused: ", waiting,
                                          " bytes of replaced tables wait to be freed, "
                                          "the bound is ",
                                          epoch::retired_bound(), ". They are held back by ",
                                          blamed, "; end that call, then try again"));
}

}  // namespace opyard
