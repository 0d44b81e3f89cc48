#include "opyard/dispatch/resolve.h"

#include <array>

namespace opyard {
namespace {

const Kernel* direct(const Registrations& registrations, DispatchKey key) {
  const auto found = registrations.find(key);
  return found == registrations.end() ? nullptr : found->second.front().get();
}

// The alias's kernel where the alias serves `key`.
const Kernel* through(const Registrations& registrations, DispatchKey alias, DispatchKey key) {
  const Kernel* kernel = direct(registrations, alias);
  return kernel && alias_contains(alias, key) ? kernel : nullptr;
}

// Whether a backend that runs below the autograd key `key` has a kernel of its own.
bool backend_has_kernel(const Registrations& registrations, DispatchKey key) {
  const DispatchKey functionality = functionality_of(key);
  for (const auto& [registered, kernels] : registrations) {
    if (is_alias_key(registered)) continue;
    const DispatchKey layout = functionality_of(registered);
    if (functionality == DispatchKey::AutogradFunctionality) {
      if (layout == DispatchKey::Dense && backend_of(registered) == backend_of(key)) return true;
    } else if (key == DispatchKey::AutogradNestedTensor) {
      if (layout == DispatchKey::NestedTensor) return true;
    } else if (key == DispatchKey::AutogradOther) {
      if ((groups_of(registered) & kGroupBackend) && layout != DispatchKey::Dense) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view to_string(Reason reason) noexcept {
  static constexpr std::array<std::string_view, 9> kTexts = {
      "kernel",      "default backend kernel", "nested kernel",  "ambiguous autogradother",
      "math kernel", "autograd kernel",        "batched kernel", "backend fallback",
      "missing"};
  return kTexts[static_cast<size_t>(reason)];
}

Resolution resolve(const Registrations& registrations, const Fallbacks& fallbacks,
                   DispatchKey key) {
  using enum DispatchKey;
  const bool undefined = key == Undefined;
  const auto serves = [&](DispatchKey alias) -> const Kernel* {
    return undefined ? direct(registrations, alias) : through(registrations, alias, key);
  };

  // 1
  if (const Kernel* kernel = undefined ? nullptr : direct(registrations, key)) {
    return {kernel, Reason::kKernel};
  }
  // 2.1, 2.2
  for (const DispatchKey alias :
       {CompositeExplicitAutogradNonFunctional, CompositeExplicitAutograd}) {
    if (const Kernel* kernel = serves(alias)) return {kernel, Reason::kDefaultBackend};
  }
  const bool has_backend_kernel =
      direct(registrations, CompositeExplicitAutograd) || backend_has_kernel(registrations, key);
  // 2.3a
  if (!undefined && !has_backend_kernel) {
    if (const Kernel* kernel = serves(CompositeImplicitAutogradNestedTensor)) {
      return {kernel, Reason::kNested};
    }
  }
  // 2.3b
  if (const Kernel* kernel = serves(CompositeImplicitAutograd)) {
    if (key == AutogradOther && backend_has_kernel(registrations, key)) {
      return {nullptr, Reason::kAmbiguous};
    }
    if (!has_backend_kernel) return {kernel, Reason::kMath};
  }
  // 2.4, 2.5
  if (const Kernel* kernel = through(registrations, Autograd, key)) {
    return {kernel, Reason::kAutograd};
  }
  if (const Kernel* kernel = through(registrations, FuncTorchBatchedDecomposition, key)) {
    return {kernel, Reason::kBatched};
  }
  // 3, 4
  if (const Kernel* kernel = fallbacks[static_cast<size_t>(slot_of(key))].get()) {
    return {kernel, Reason::kFallback};
  }
  return {nullptr, Reason::kMissing};
}

}  // namespace opyard
