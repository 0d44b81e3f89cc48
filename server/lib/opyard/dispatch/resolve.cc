#include "opyard/dispatch/resolve.h"

#include <array>

namespace opyard {
namespace {

constexpr auto kNumKeys = static_cast<size_t>(DispatchKey::EndOfAliasKeys);
constexpr auto kFirstAlias = static_cast<size_t>(DispatchKey::EndOfRuntimeKeys) + 1;

// What resolution asks about a runtime key, found out once.
struct KeyFacts {
  size_t slot = 0;
  uint32_t aliases = 0;        // that contain it, a bit each
  uint32_t dense_backend = 0;  // the bit of the backend whose autograd key it is
};

const KeyFacts& facts_of(DispatchKey key) {
  static const auto kFacts = [] {
    std::array<KeyFacts, kNumKeys> all{};
    for (int slot = 0; slot < kNumSlots; ++slot) {
      const DispatchKey key = key_of_slot(slot);
      KeyFacts& facts = all[static_cast<size_t>(key)];
      facts.slot = static_cast<size_t>(slot);
      for (size_t alias = kFirstAlias; alias < kNumKeys; ++alias) {
        const bool contains = alias_contains(static_cast<DispatchKey>(alias), key);
        facts.aliases |= uint32_t{contains} << (alias - kFirstAlias);
      }
      if (functionality_of(key) == DispatchKey::AutogradFunctionality) {
        facts.dense_backend = uint32_t{1} << static_cast<int>(backend_of(key));
      }
    }
    return all;
  }();
  return kFacts[static_cast<size_t>(key)];
}

// The alias's kernel where the alias serves the key.
const Kernel* through(const ActiveKernels& kernels, DispatchKey alias, const KeyFacts& key) {
  const bool serves = key.aliases >> (static_cast<size_t>(alias) - kFirstAlias) & 1;
  return serves ? kernels.at(alias) : nullptr;
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
  return (dense_backends_ & facts_of(autograd_key).dense_backend) != 0;
}

Resolution resolve(const ActiveKernels& kernels, const Fallbacks& fallbacks, DispatchKey key) {
  using enum DispatchKey;
  const bool undefined = key == Undefined;
  const KeyFacts& facts = facts_of(key);
  const auto serves = [&](DispatchKey alias) -> const Kernel* {
    return undefined ? kernels.at(alias) : through(kernels, alias, facts);
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
  if (const Kernel* kernel = through(kernels, Autograd, facts)) {
    return {kernel, Reason::kAutograd};
  }
  if (const Kernel* kernel = through(kernels, FuncTorchBatchedDecomposition, facts)) {
    return {kernel, Reason::kBatched};
  }
  // 3, 4
  const auto& fallback = fallbacks[facts.slot];
  if (!fallback.empty()) return {fallback.front().get(), Reason::kFallback};
  return {nullptr, Reason::kMissing};
}

}  // namespace opyard
