#pragma once

#include <cstdint>
#include <string_view>

namespace opyard {

// Why a slot holds what it holds; the texts stand in dumps.
enum class Reason : uint8_t {
  kKernel,          // "kernel": registered to the key itself
  kDefaultBackend,  // "default backend kernel": CompositeExplicitAutograd[NonFunctional]
  kNested,          // "nested kernel": CompositeImplicitAutogradNestedTensor
  kAmbiguous,       // "ambiguous autogradother"
  kMath,            // "math kernel": CompositeImplicitAutograd
  kAutograd,        // "autograd kernel": the Autograd alias
  kBatched,         // "batched kernel": FuncTorchBatchedDecomposition
  kFallback,        // "backend fallback"
  kMissing,         // "missing"
};
std::string_view to_string(Reason reason) noexcept;

}  // namespace opyard
