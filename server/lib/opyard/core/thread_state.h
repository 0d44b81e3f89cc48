#pragma once

#include <cstdint>

#include "opyard/base/epoch.h"
#include "opyard/core/dispatch_key_set.h"

namespace opyard {

struct Root;             // dispatch/table.h
class Generator;         // core/generator.h
class AllocationBudget;  // core/allocator.h

// The keys that a call adds and takes away by default: {BackendSelect, ADInplaceOrView} in,
// all Autocast keys out.
constexpr KeySet kDefaultIncluded = KeySet::functionalities(kGroupIncluded);
constexpr KeySet kDefaultExcluded = kAutocastKeys;

// What a thread brings to every call. One cache line, constant-initialised, read with the
// initial-exec model. Only its own thread touches it; ThreadStateSnapshot carries it to others. The
// rest of a thread's facts live behind `extension`.
struct alignas(64) ThreadState {
  uint64_t included = kDefaultIncluded.bits();
  uint64_t kept = ~kDefaultExcluded.bits();  // all but the excluded keys
  const Root* root = nullptr;  // pinned by the outermost call; stale outside of calls
  EpochSlot* slot = nullptr;       // this thread's epoch mark; null before its first call
  Generator* generator = nullptr;  // where random operators draw from; null: the process's
  AllocationBudget* budget = nullptr;  // who pays for new storage; null: nobody
  void* extension = nullptr;           // room for concerns (autograd, modes, tracing)
  uint32_t flags = 0;                  // kThread… bits
  uint32_t trace_depth = 0;            // nesting of traced calls
};
static_assert(sizeof(ThreadState) == 64);

enum ThreadFlags : uint32_t {
  kThreadInferenceMode = 1,
  kThreadNoGrad = 2,
  kThreadZeroMemory = 4,  // new host storage is zeroed: set for remote sessions
};

extern thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Within a call or frame.
inline bool is_pinned() noexcept {
  const EpochSlot* slot = thread_state.slot;
  return slot && slot->epoch.load(std::memory_order_relaxed) != 0;
}

inline KeySet included_keys() noexcept { return KeySet(thread_state.included); }
// Functionality keys only.
inline KeySet excluded_keys() noexcept {
  return KeySet(~thread_state.kept & KeySet::kFunctionalityBits);
}
// (arguments | included) - excluded.
inline KeySet with_thread_keys(KeySet arguments) noexcept {
  return KeySet((arguments.bits() | thread_state.included) & thread_state.kept);
}

}  // namespace opyard
