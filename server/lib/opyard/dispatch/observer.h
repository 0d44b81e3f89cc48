#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "opyard/base/epoch.h"
#include "opyard/dispatch/table.h"

namespace opyard {

enum class CallLabel : uint8_t { kCall, kRedispatch, kCallBoxed, kRedispatchBoxed };

// "call", "redispatch", "callBoxed", "redispatchBoxed"
std::string_view to_string(CallLabel label) noexcept;

// " [call] op=[aten::ones], key=[CPU]": the reference's line, a blank for each level of nesting.
std::string trace_line(CallLabel label, const OperatorEntry& op, DispatchKey key, uint32_t depth);

// One entry into the dispatcher, as its watchers see it. Valid during the notification.
struct CallEvent {
  CallLabel label;
  const OperatorEntry& op;
  KeySet keys;     // after masks; the call goes to the highest
  uint32_t depth;  // 1 for an outermost call
};

// Watches calls: profiling, metrics and traces hang on this one interface. Notified on the calling
// thread, at the same time on several; must not throw. Costs calls a predicted branch while nobody
// watches. Of a call that is under way when watching begins, nested calls are seen, with their
// enter() and leave(), or its leave() alone.
class Observer {
 public:
  virtual ~Observer();
  virtual void enter(const CallEvent& event) noexcept = 0;
  virtual void leave(const CallEvent& event) noexcept;
};

// Watching ends with this object; a notification that is under way on another thread may still
// finish after that, which the observer's shared ownership allows.
class Observation {
 public:
  Observation() noexcept = default;
  ~Observation() { reset(); }
  Observation(Observation&& other) noexcept;
  Observation& operator=(Observation&& other) noexcept;
  void reset() noexcept;

 private:
  friend Observation observe_calls(std::shared_ptr<Observer> observer);
  std::shared_ptr<Observer> observer_;
};

// Any thread. RESOURCE_EXHAUSTED when too much waits to be freed already (see epoch.h).
[[nodiscard]] Observation observe_calls(std::shared_ptr<Observer> observer);

// Writes a line per entry, in the reference's format: " [call] op=[aten::ones], key=[CPU]", one
// space per level. `write` may be called from several threads at the same time.
[[nodiscard]] Observation trace_calls(std::function<void(std::string_view line)> write);

// Notifies the observers while it lives. Only on the slow path, with the root pinned.
class ObservedCall {
 public:
  ObservedCall(CallLabel label, Keys keys) noexcept;
  ~ObservedCall();
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

 private:
  CallEvent event_;
};

inline bool calls_are_observed() noexcept {
  return (epoch_domain.attention.load(std::memory_order_relaxed) & kAttentionObserved) != 0;
}

}  // namespace opyard
