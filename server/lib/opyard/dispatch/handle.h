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

// A new call: keys from arguments and thread, masks, slot, kernel.
template <typename R, typename... A>
inline R start_call(const PinnedRoot& pin, const OperatorTable* table, A... arguments) {
  pin.note(table);
  const KeySet keys = ((keys_of(arguments) | ... | included_keys())) - excluded_keys();
  const Keys masked{table->masked(keys), table};
  if (pin.observed()) [[unlikely]] {
    return invoke_observed<R, A...>(CallLabel::kCall, masked, std::forward<A>(arguments)...);
  }
  return invoke_unobserved<R, A...>(masked, std::forward<A>(arguments)...);
}

template <typename Signature>
class OpHandle;

// Typed calls of one operator of the global dispatcher. Any thread.
template <typename R, typename... A>
class OpHandle<R(A...)> : public OpHandleBase {
 public:
  constexpr explicit OpHandle(const char* schema) noexcept
      : OpHandleBase{schema, &SignatureOf<R(A...)>::info, 0} {}

  R operator()(A... arguments) const {
    const PinnedRoot pin;
    return start_call<R, A...>(pin, pin.root().table(index), std::forward<A>(arguments)...);
  }

  // Uses `keys` as they are: no thread state, no masks, no look at the arguments.
  R redispatch(KeySet keys, A... arguments) const {
    const PinnedRoot pin;
    return invoke<R, A...>(Keys{keys, pin.root().table(index)}, std::forward<A>(arguments)...);
  }
};

}  // namespace opyard
