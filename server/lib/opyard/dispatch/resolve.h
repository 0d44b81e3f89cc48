#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "opyard/dispatch/table.h"

namespace opyard {

// An operator's kernels by key, alias keys included; newest first, and only the first counts.
using Registrations = std::map<DispatchKey, std::vector<KernelPtr>>;
// Fallbacks by slot; null where there is none.
using Fallbacks = std::vector<KernelPtr>;

struct Resolution {
  const Kernel* kernel;  // null for kMissing and kAmbiguous
  Reason reason;
};

// The kernel that serves one runtime key (or Undefined) of an operator. Pure; the numbered rules
// stand in server/doc/adr/0003-resolution.md.
Resolution resolve(const Registrations& registrations, const Fallbacks& fallbacks, DispatchKey key);

}  // namespace opyard
