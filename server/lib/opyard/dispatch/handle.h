#pragma once

#include <cstdint>

#include "opyard/dispatch/key_extractor.h"
#include "opyard/dispatch/pin.h"
#include "opyard/dispatch/signature.h"

namespace opyard {

// The part of an operator's handle that does not depend on its signature. Generated code defines
// one constant-initialised, exported object per operator; bind_handles() gives it its place in the
// tables of Dispatcher::global() while the library is initialised. Before that, index 0 leads to a
// table whose slots raise a clear error.
struct OpHandleBase {
  const char* schema;  // full text of the definition
  SignatureInfo (*signature)() noexcept;
  mutable uint32_t index = 0;  // written once, before the first call
};

// The keys of a new call: those of arguments and thread, less what falls through.
template <typename... A>
inline Keys call_keys(const OperatorTable* table, const A&... arguments) noexcept {
  return {table->masked(with_thread_keys((keys_of(arguments) | ... | KeySet()))), table};
}

// A new call.
template <typename R, typename... A>
inline R start_call(const PinnedRoot& pin, const OperatorTable* table, A... arguments) {
  const Keys keys = call_keys(table, arguments...);
  if (pin.observed()) [[unlikely]] {
    return invoke_observed<R, A...>(CallLabel::kCall, keys, std::forward<A>(arguments)...);
  }
  return invoke_unobserved<R, A...>(keys, std::forward<A>(arguments)...);
}

template <typename Signature>
class OpHandle;

// Typed calls of one operator of the global dispatcher. Any thread.
template <typename R, typename... A>
class OpHandle<R(A...)> : public OpHandleBase {
 public:
  constexpr explicit OpHandle(const char* schema) noexcept
      : OpHandleBase{schema, &SignatureOf<R(A...)>::info, 0} {}

  // The two usual cases, nested and outermost, call nothing but the kernel.
  [[gnu::always_inline]] R operator()(A... arguments) const {
    if (epoch_domain.attention.load(std::memory_order_relaxed) == 0) [[likely]] {
      if (EpochSlot* slot = thread_state.slot) [[likely]] {
        if (slot->epoch.load(std::memory_order_relaxed) != 0) {
          const Keys keys = call_keys(thread_state.root->table(index), arguments...);
          return invoke_unobserved<R, A...>(keys, std::forward<A>(arguments)...);
        }
        const OutermostPin pin(*slot, schema);
        const Keys keys = call_keys(thread_state.root->table(index), arguments...);
        return invoke_unobserved<R, A...>(keys, std::forward<A>(arguments)...);
      }
    }
    return call_attended(std::forward<A>(arguments)...);
  }

  // Uses `keys` as they are: no thread state, no masks, no look at the arguments.
  R redispatch(KeySet keys, A... arguments) const {
    const PinnedRoot pin(schema);
    return invoke<R, A...>(Keys{keys, pin.root().table(index)}, std::forward<A>(arguments)...);
  }

 private:
  // Observed, fenced, or the thread's first call.
  [[gnu::noinline, gnu::cold]] R call_attended(A... arguments) const {
    const PinnedRoot pin(schema);
    return start_call<R, A...>(pin, pin.root().table(index), std::forward<A>(arguments)...);
  }
};

}  // namespace opyard
