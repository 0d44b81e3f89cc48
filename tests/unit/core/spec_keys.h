#pragma once

#include <string>
#include <string_view>
#include <vector>

// The keys as the description of the dispatcher tells them, typed in: names, numbers and members of
// alias keys. Tests compare the generated ones with these; second implementations that tests bring
// along are built on these names alone.
namespace opyard::spec {

struct Functionality {
  int value;
  const char* name;
  int bit;   // of a key set; -1: none
  int slot;  // the first one
  bool per_backend;
};

inline constexpr Functionality kFunctionalities[] = {
    {0, "Undefined", -1, 0, false},
    {1, "Dense", 16, 1, true},
    {2, "FPGA", 17, 17, false},
    {3, "Vulkan", 18, 18, false},
    {4, "Metal", 19, 19, false},
    {5, "Quantized", 20, 20, true},
    {6, "CustomRNGKeyId", 21, 36, false},
    {7, "MkldnnCPU", 22, 37, false},
    {8, "Sparse", 23, 38, true},
    {9, "SparseCsr", 24, 54, true},
    {10, "NestedTensor", 25, 70, true},
    {11, "BackendSelect", 26, 86, false},
    {12, "Python", 27, 87, false},
    {13, "Fake", 28, 88, false},
    {14, "FuncTorchDynamicLayerBackMode", 29, 89, false},
    {15, "Functionalize", 30, 90, false},
    {16, "Named", 31, 91, false},
    {17, "Conjugate", 32, 92, false},
    {18, "Negative", 33, 93, false},
    {19, "ZeroTensor", 34, 94, false},
    {20, "ADInplaceOrView", 35, 95, false},
    {21, "AutogradOther", 36, 96, false},
    {22, "AutogradFunctionality", 37, 97, true},
    {23, "AutogradNestedTensor", 38, 113, false},
    {24, "Tracer", 39, 114, false},
    {25, "AutocastCPU", 40, 115, false},
    {26, "AutocastMTIA", 41, 116, false},
    {27, "AutocastMAIA", 42, 117, false},
    {28, "AutocastXPU", 43, 118, false},
    {29, "AutocastIPU", 44, 119, false},
    {30, "AutocastHPU", 45, 120, false},
    {31, "AutocastXLA", 46, 121, false},
    {32, "AutocastMPS", 47, 122, false},
    {33, "AutocastCUDA", 48, 123, false},
    {34, "AutocastPrivateUse1", 49, 124, false},
    {35, "FuncTorchBatched", 50, 125, false},
    {36, "BatchedNestedTensor", 51, 126, false},
    {37, "FuncTorchVmapMode", 52, 127, false},
    {38, "Batched", 53, 128, false},
    {39, "VmapMode", 54, 129, false},
    {40, "FuncTorchGradWrapper", 55, 130, false},
    {41, "DeferredInit", 56, 131, false},
    {42, "PythonTLSSnapshot", 57, 132, false},
    {43, "FuncTorchDynamicLayerFrontMode", 58, 133, false},
    {44, "TESTING_ONLY_GenericWrapper", 59, 134, false},
    {45, "TESTING_ONLY_GenericMode", 60, 135, false},
    {46, "PreDispatch", 61, 136, false},
    {47, "PythonDispatcher", 62, 137, false},
};

inline constexpr const char* kBackends[] = {
    "CPU", "CUDA", "HIP",  "XLA",  "MPS",         "IPU",         "XPU",         "HPU",
    "VE",  "Lazy", "MTIA", "MAIA", "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta"};

inline constexpr const char* kAliases[] = {"Autograd",
                                           "CompositeImplicitAutograd",
                                           "FuncTorchBatchedDecomposition",
                                           "CompositeImplicitAutogradNestedTensor",
                                           "CompositeExplicitAutograd",
                                           "CompositeExplicitAutogradNonFunctional"};

using Names = std::vector<std::string>;

inline std::string prefix_of(const Functionality& functionality) {
  const std::string_view name = functionality.name;
  if (name == "Dense") return "";
  return name == "AutogradFunctionality" ? "Autograd" : std::string(name);
}

// "Sparse" → SparseCPU, SparseCUDA, …
inline Names over_backends(std::string_view prefix) {
  Names names;
  for (const char* backend : kBackends) names.push_back(std::string(prefix) + backend);
  return names;
}

inline Names joined(std::initializer_list<Names> parts) {
  Names all;
  for (const Names& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Every key that owns a slot, Undefined first, in the order of the slots.
inline Names runtime_keys() {
  Names names;
  for (const Functionality& each : kFunctionalities) {
    const Names more = each.per_backend ? over_backends(prefix_of(each)) : Names{each.name};
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

inline Names alias_members(std::string_view alias) {
  const Names autograd =
      joined({{"AutogradOther", "AutogradNestedTensor"}, over_backends("Autograd")});
  const Names alone = {"FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU"};
  const Names explicit_keys = joined({over_backends(""), over_backends("Quantized"),
                                      over_backends("Sparse"), over_backends("SparseCsr"), alone});
  if (alias == "Autograd") return autograd;
  if (alias == "CompositeExplicitAutograd") return explicit_keys;
  if (alias == "CompositeExplicitAutogradNonFunctional") {
    Names names = alone;
    for (const std::string prefix : {"", "Quantized", "SparseCsr"}) {
      for (const std::string backend : kBackends) {
        if (backend != "XLA" && backend != "Lazy") names.push_back(prefix + backend);
      }
    }
    return names;
  }
  if (alias == "CompositeImplicitAutograd") {
    return joined({explicit_keys, autograd, over_backends("NestedTensor"), {"Functionalize"}});
  }
  if (alias == "CompositeImplicitAutogradNestedTensor") {
    return joined({{"AutogradNestedTensor"}, over_backends("NestedTensor")});
  }
  if (alias == "FuncTorchBatchedDecomposition") return {"FuncTorchBatched"};
  return {};
}

}  // namespace opyard::spec
