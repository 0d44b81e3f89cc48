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

// What a thread brings to every call. One cache line, all zero at the start (the two key sets are
// stored XOR their defaults), read with the initial-exec model. Only its own thread touches it;
// ThreadStateSnapshot carries it to others. The rest of a thread's facts live behind `extension`.
struct alignas(64) ThreadState {
  uint64_t included_xor;
  uint64_t excluded_xor;
  const Root* root;          // the tables pinned by the outermost call; null outside of calls
  EpochSlot* slot;           // this thread's epoch mark; null before its first call
  Generator* generator;      // where random operators draw from; null: the process's default
  AllocationBudget* budget;  // who pays for new storage; null: nobody
  void* extension;           // room for concerns (autograd, modes, tracing)
  uint32_t flags;            // kThread… bits
  uint32_t trace_depth;      // nesting of traced calls
};
static_assert(sizeof(ThreadState) == 64);

enum ThreadFlags : uint32_t {
  kThreadInferenceMode = 1,
  kThreadNoGrad = 2,
  kThreadZeroMemory = 4,  // new host storage is zeroed: set for remote sessions
};

extern thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));

inline KeySet included_keys() noexcept {
  return KeySet(thread_state.included_xor) ^ kDefaultIncluded;
}
inline KeySet excluded_keys() noexcept {
  return KeySet(thread_state.excluded_xor) ^ kDefaultExcluded;
}

}  // namespace opyard
