#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "opyard/base/intrusive_ptr.h"
#include "opyard/core/dispatch_key_set.h"
#include "opyard/core/ivalue.h"
#include "opyard/dispatch/reason.h"

namespace opyard {

class OperatorEntry;
struct OperatorTable;
struct Kernel;

// What every kernel is called with first: the keys of the call (the highest is the kernel's own)
// and the operator's table in the pinned snapshot. Two registers.
struct Keys {
  KeySet set;
  const OperatorTable* table;

  // Where a kernel at `key` sends the call on to: this operator, below the key.
  Keys below(DispatchKey key) const noexcept { return {set & KeySet::below(key), table}; }
  Keys with(KeySet keys) const noexcept { return {keys, table}; }
  const OperatorEntry& op() const noexcept;
};
static_assert(sizeof(Keys) == 16);

// The boxed form of every kernel: n_in arguments in schema order, borrowed; n_out results, all None
// on entry. May throw opyard::Error.
using BoxedFn = void (*)(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in,
                         IValue* out, uint32_t n_out);

enum class KernelKind : uint8_t {
  kOrdinary,
  kFallthrough,  // never called: its key is masked out
  kPassDown,     // an autograd fallback: goes on below all Autograd keys
  kMissing,      // raises
  kAmbiguous,    // raises
  kGone,         // raises: the operator was unregistered, or never registered
};

// One registered function, with where it comes from. Immutable; tables share it.
struct Kernel : RefCounted {
  KernelKind kind = KernelKind::kOrdinary;
  const void* typed = nullptr;  // R(*)(Keys, Args…) of the operator's signature, or null
  BoxedFn boxed = nullptr;
  opyard_boxed_fn c_boxed = nullptr;  // called by the seam function when `boxed` is that
  void* self = nullptr;
  bool overrides = false;    // replacing another kernel is meant
  bool is_wrapper = false;   // a structured operator's: goes on to the internal operator
  bool is_fallback = false;  // stands for all operators at its key
  bool built_in = false;     // … and came with the library
  std::string signature;     // mangled C++ signature of `typed`; empty without one
  std::string schema;        // inferred from it
  std::string debug;         // label; by default the place
  std::string place;         // "registered at FILE:LINE"; a wrapper's: of the kernel behind it
  std::string plugin;        // who brought it; "opyard" for the library itself
  uint64_t generation = 0;
  mutable std::atomic<bool> registered{false};  // until it is removed; for kernel handles
  // Glue of the signature (SignatureInfo), code of the one who registered the kernel.
  const void* pass_down = nullptr;
  const void* from_typed = nullptr;

  static void destroy(const Kernel* kernel) noexcept { delete kernel; }
};
using KernelPtr = IntrusivePtr<const Kernel>;

// Everything that a call needs of one operator; immutable once published. `typed` and `kernels` go
// by KeySet::entry(). A typed call finds a function at every entry, in the operator's signature:
// the kernel itself, or one that calls it boxed.
struct OperatorTable {
  KeySet mask = KeySet::full();     // keys that do not fall through
  bool per_backend_masks = false;   // backend_masks differ and count instead of mask
  uint64_t key_positions = 0;       // boxed arguments that bring keys: see key_extractor.h
  const char* signature = nullptr;  // of `typed`, mangled; null while nobody has told it
  const OperatorEntry* op = nullptr;
  const void* typed[kNumEntries];
  const Kernel* kernels[kNumEntries];
  KeySet backend_masks[kNumBackends];
  Reason reasons[kNumSlots];

  // The keys of a call after thread state: what falls through is taken away.
  KeySet masked(KeySet keys) const noexcept {
    if (per_backend_masks) [[unlikely]] {
      const Backend backend = keys.highest_backend();
      if (backend != Backend::kNone) return keys & backend_masks[static_cast<int>(backend) - 1];
    }
    return keys & mask;
  }
  // The kernel that a call with these keys goes to. Never null in a published table.
  const Kernel& kernel(KeySet keys) const noexcept { return *kernels[keys.entry()]; }
  const Kernel& kernel_at(int slot) const noexcept { return *kernels[entry_of_slot(slot)]; }
};

inline const OperatorEntry& Keys::op() const noexcept { return *table->op; }

class NameIndex;

// A snapshot of all operators: what a publication swaps. Freed after its grace period; tables are
// shared between roots. Index 0 is the table of operators that are not registered.
struct Root {
  uint64_t generation = 0;
  uint64_t size = 0;
  const NameIndex* names = nullptr;

  // The tables lie right behind the root, in the same block of memory.
  const OperatorTable* table(uint32_t index) const noexcept {
    return reinterpret_cast<const OperatorTable* const*>(this + 1)[index];
  }
};

// The root of Dispatcher::global().
extern std::atomic<const Root*> global_root;

}  // namespace opyard
