#include "opyard/dispatch/resolve.h"

#include <array>

namespace opyard {
namespace {

// The alias's kernel where the alias serves `key`.
const Kernel* through(const ActiveKernels& kernels, DispatchKey alias, DispatchKey key) {
  const Kernel* kernel = kernels.at(alias);
  return kernel && alias_contains(alias, key) ? kernel : nullptr;
}

}  // namespace

std::string_view to_string(Reason reason) noexcept {
  static constexpr std::array<std::string_view, 9> kTexts = {
      "kernel",      "default backend kernel", "nested kernel",  "ambiguous autogradother",
      "math kernel", "autograd kernel",        "batched kernel", "backend fallback",
      "missing"};
  return kTexts[static_cast<size_t>(reason)];
}

ActiveKernels::ActiveKernels(const Registrations& registrations) {
  for (const KernelAt& registered : registrations) {
    const Kernel*& place = kernels_[static_cast<size_t>(registered.key)];
    if (place) continue;
    place = registered.kernel.get();
    const DispatchKey layout = functionality_of(registered.key);
    if (layout == DispatchKey::Dense) {
      dense_backends_ |= uint32_t{1} << static_cast<int>(backend_of(registered.key));
    } else if (layout == DispatchKey::NestedTensor) {
      nested_ = true;
    } else if (!is_alias_key(registered.key)) {
      other_ |= (groups_of(registered.key) & kGroupBackend) != 0;
    }
  }
}

bool ActiveKernels::backend_below(DispatchKey autograd_key) const noexcept {
  if (autograd_key == DispatchKey::AutogradOther) return other_;
  if (autograd_key == DispatchKey::AutogradNestedTensor) return nested_;
  return functionality_of(autograd_key) == DispatchKey::AutogradFunctionality &&
         (dense_backends_ >> static_cast<int>(backend_of(autograd_key)) & 1) != 0;
}

Resolution resolve(const ActiveKernels& kernels, const Fallbacks& fallbacks, DispatchKey key) {
  using enum DispatchKey;
  const bool undefined = key == Undefined;
  const auto serves = [&](DispatchKey alias) -> const Kernel* {
    return undefined ? kernels.at(alias) : through(kernels, alias, key);
  };

  // 1
  if (const Kernel* kernel = undefined ? nullptr : kernels.at(key)) {
    return {kernel, Reason::kKernel};
  }
  // 2.1, 2.2
  for (const DispatchKey alias :
       {CompositeExplicitAutogradNonFunctional, CompositeExplicitAutograd}) {
    if (const Kernel* kernel = serves(alias)) return {kernel, Reason::kDefaultBackend};
  }
  const bool has_backend_kernel =
      kernels.at(CompositeExplicitAutograd) || kernels.backend_below(key);
  // 2.3a
  if (!undefined && !has_backend_kernel) {
    if (const Kernel* kernel = serves(CompositeImplicitAutogradNestedTensor)) {
      return {kernel, Reason::kNested};
    }
  }
  // 2.3b
  if (const Kernel* kernel = serves(CompositeImplicitAutograd)) {
    if (key == AutogradOther && kernels.backend_below(key)) {
      return {nullptr, Reason::kAmbiguous};
    }
    if (!has_backend_kernel) return {kernel, Reason::kMath};
  }
  // 2.4, 2.5
  if (const Kernel* kernel = through(kernels, Autograd, key)) {
    return {kernel, Reason::kAutograd};
  }
  if (const Kernel* kernel = through(kernels, FuncTorchBatchedDecomposition, key)) {
    return {kernel, Reason::kBatched};
  }
  // 3, 4
  const auto& fallback = fallbacks[static_cast<size_t>(slot_of(key))];
  if (!fallback.empty()) return {fallback.front().get(), Reason::kFallback};
  return {nullptr, Reason::kMissing};
}

}  // namespace opyard
