#pragma once

#include <array>
#include <vector>

#include "opyard/dispatch/table.h"

namespace opyard {

// One kernel of an operator. While a change is being made, the kernel of a place that was left and
// may be taken again is null.
struct KernelAt {
  DispatchKey key;
  KernelPtr kernel;
};
// An operator's kernels, alias keys included, in the order of the keys; of one key the newest
// first, and only the first counts.
using Registrations = std::vector<KernelAt>;
// Fallbacks by slot. All of one slot are the same function; the first counts.
using Fallbacks = std::vector<std::vector<KernelPtr>>;

// The kernels that count, by key.
class ActiveKernels {
 public:
  explicit ActiveKernels(const Registrations& registrations);
  // At the key itself; null when there is none.
  const Kernel* at(DispatchKey key) const noexcept { return kernels_[static_cast<size_t>(key)]; }
  // Whether a backend that runs below the autograd key has a kernel of its own.
  bool backend_below(DispatchKey autograd_key) const noexcept;

 private:
  std::array<const Kernel*, static_cast<size_t>(DispatchKey::EndOfAliasKeys)> kernels_{};
  uint32_t dense_backends_ = 0;  // a bit each
  bool nested_ = false;
  bool other_ = false;  // at a backend key that AutogradOther serves
};

struct Resolution {
  const Kernel* kernel;  // null for kMissing and kAmbiguous
  Reason reason;
};

// The kernel that serves one runtime key (or Undefined) of an operator. Pure; the numbered rules
// stand in server/doc/adr/0003-resolution.md.
Resolution resolve(const ActiveKernels& kernels, const Fallbacks& fallbacks, DispatchKey key);

}  // namespace opyard
