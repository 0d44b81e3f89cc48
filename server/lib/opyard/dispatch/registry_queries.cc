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
  for (const KernelAt& at : entry.state_.kernels) {
    if (at.key == key) return at.kernel;
  }
  if (!is_runtime_key(key)) return {};
  const auto& fallback = fallbacks_[static_cast<size_t>(slot_of(key))];
  return fallback.empty() ? KernelPtr() : fallback.front();
}

std::vector<std::string> Registry::dangling_impls() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [text, name] : names_) {
    if (!name.current) continue;
    const State& state = name.current->state_;
    if (!state.is_defined() && !state.is_gone()) names.push_back(text);
  }
  return names;
}

uint64_t Registry::add_listener(OperatorListener listener) {
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    const auto shared = std::make_shared<const OperatorListener>(std::move(listener));
    id = next_listener_ + 1;
    std::list<OperatorEvent> replay;
    for (const auto& [text, name] : names_) {
      if (name.current && name.current->state_.is_defined()) {
        replay.push_back({name.current, true, id, shared});
      }
    }
    listeners_.emplace(id, shared);
    next_listener_ = id;
    events_.splice(events_.end(), replay);
  }
  tell_listeners();
  return id;
}

void Registry::remove_listener(uint64_t id) noexcept {
  MutexLock lock(mutex_);
  listeners_.erase(id);
}

bool Registry::take_events(std::list<OperatorEvent>& events, Listeners& listeners) {
  MutexLock lock(mutex_);
  if (telling_ || events_.empty()) return false;
  listeners = listeners_;
  telling_ = true;
  events.swap(events_);
  return true;
}

void Registry::tell(const OperatorEvent& event, const OperatorListener& listener) noexcept {
  try {
    const auto& told = event.is_defined ? listener.defined : listener.undefined;
    if (told) told(OperatorHandle(event.entry));
  } catch (...) {
    const Error error = current_error();
    log(LogLevel::kError, "a listener of operators failed:");
    log(LogLevel::kError, error.message());
  }
}

void Registry::tell_listeners() noexcept {
  for (;;) {
    std::list<OperatorEvent> events;
    Listeners listeners;
    try {
      if (!take_events(events, listeners)) return;
    } catch (...) {
      log(LogLevel::kError,
          "there is no memory to tell listeners of operators; they are told later");
      return;
    }
    for (const OperatorEvent& event : events) {
      for (const auto& [id, listener] : listeners) {
        if (id > event.newest_listener || (event.only && event.only != listener)) continue;
        tell(event, *listener);
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
