#include "opyard/dispatch/observer.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/base/no_destructor.h"
#include "opyard/base/thread_annotations.h"
#include "opyard/core/thread_state.h"
#include "opyard/dispatch/operator_entry.h"

namespace opyard {
namespace {

using Observers = std::vector<std::shared_ptr<Observer>>;

// The list that calls read; replaced as a whole, like a root.
std::atomic<const Observers*> current{nullptr};

Mutex& writers() {
  static NoDestructor<Mutex> mutex;
  [[maybe_unused]] static const int fork_is_safe =
      pthread_atfork([] { (*mutex).lock(); }, [] { (*mutex).unlock(); }, [] { (*mutex).unlock(); });
  return *mutex;
}

void replace(const std::function<void(Observers&)>& change) {
  MutexLock lock(writers());
  const Observers* old = current.load();
  auto* next = old ? new Observers(*old) : new Observers;
  change(*next);
  current.store(next, std::memory_order_release);
  if (next->empty()) {
    epoch_domain.attention.fetch_and(~uint32_t{kAttentionObserved});
  } else {
    epoch_domain.attention.fetch_or(kAttentionObserved);
  }
  if (!old) return;
  epoch::retire(
      const_cast<Observers*>(old), [](void* list) { delete static_cast<const Observers*>(list); },
      sizeof(Observers) + old->capacity() * sizeof(Observers::value_type));
}

class Trace final : public Observer {
 public:
  explicit Trace(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
  void enter(const CallEvent& event) noexcept override {
    try {
      write_(trace_line(event.label, event.op, event.keys.highest_priority(), event.depth));
    } catch (...) {
      log(LogLevel::kError, "a line of the dispatch trace could not be written");
    }
  }

 private:
  std::function<void(std::string_view)> write_;
};

// A person asked for the trace through the environment, so it goes to where a person looks.
void write_to_stderr(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

[[maybe_unused]] const bool asked_by_environment = [] {
  const char* wish = std::getenv("OPYARD_SHOW_DISPATCH_TRACE");
  if (!wish || std::string_view(wish) == "0") return false;
  if (std::string_view(wish) != "1") {
    write_to_stderr(str_cat("OPYARD_SHOW_DISPATCH_TRACE is '", wish,
                            "'; it takes 1 (on) or 0 (off), so there is no trace"));
    return false;
  }
  static NoDestructor<Observation> forever(trace_calls(write_to_stderr));
  return true;
}();

}  // namespace

std::string_view to_string(CallLabel label) noexcept {
  constexpr std::string_view kNames[] = {"call", "redispatch", "callBoxed", "redispatchBoxed"};
  return kNames[static_cast<size_t>(label)];
}

std::string trace_line(CallLabel label, const OperatorEntry& op, DispatchKey key, uint32_t depth) {
  return str_cat(std::string(depth, ' '), "[", to_string(label), "] op=[", op.name(), "], key=[",
                 to_string(key), "]");
}

Observer::~Observer() = default;
void Observer::leave(const CallEvent&) noexcept {}

Observation observe_calls(std::shared_ptr<Observer> observer) {
  OPYARD_CHECK(epoch::retired_bytes() <= epoch::retired_bound(), kResourceExhausted,
               "watching is refused: ", epoch::retired_bytes(),
               " bytes of replaced tables and lists wait until calls that are under way end");
  replace([&](Observers& list) { list.push_back(observer); });
  Observation observation;
  observation.observer_ = std::move(observer);
  return observation;
}

Observation trace_calls(std::function<void(std::string_view line)> write) {
  return observe_calls(std::make_shared<Trace>(std::move(write)));
}

Observation::Observation(Observation&& other) noexcept : observer_(std::move(other.observer_)) {}
Observation& Observation::operator=(Observation&& other) noexcept {
  reset();
  observer_ = std::move(other.observer_);
  return *this;
}
void Observation::reset() noexcept {
  if (!observer_) return;
  replace([&](Observers& list) { std::erase(list, observer_); });
  observer_.reset();
}

ObservedCall::ObservedCall(CallLabel label, Keys keys) noexcept
    : event_{label, keys.op(), keys.set, ++thread_state.trace_depth} {
  if (const Observers* list = current.load(std::memory_order_acquire)) {
    for (const auto& observer : *list) observer->enter(event_);
  }
}

ObservedCall::~ObservedCall() {
  --thread_state.trace_depth;
  if (const Observers* list = current.load(std::memory_order_acquire)) {
    for (const auto& observer : *list) observer->leave(event_);
  }
}

}  // namespace opyard
