#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "opyard/core/dispatch_keys.def"

namespace opyard {

// A kind of device. kNone means "no backend"; the others are ascending in priority.
enum class Backend : uint8_t {
  kNone = 0,
#define OPYARD_X(P, name) k##name,
  OPYARD_BACKENDS(OPYARD_X, )
#undef OPYARD_X
      kEnd,
};

inline constexpr int kNumBackends = static_cast<int>(Backend::kEnd) - 1;

// Three kinds of key, in this order: functionality keys (0 is Undefined), runtime keys of one
// functionality at one backend, alias keys. Functionality keys that exist per backend (Dense,
// Quantized, …) are building blocks: they have a bit and no table slot.
enum class DispatchKey : uint16_t {
  Undefined = 0,
#define OPYARD_F(name, groups) name,
#define OPYARD_PB(name, prefix, groups) name,
  OPYARD_FUNCTIONALITIES(OPYARD_F, OPYARD_PB)
#undef OPYARD_F
#undef OPYARD_PB
      EndOfFunctionalityKeys,
// The marker itself is no key.
#define OPYARD_F(name, groups)
#define OPYARD_X(prefix, backend) prefix##backend,
#define OPYARD_PB(name, prefix, groups) OPYARD_BACKENDS(OPYARD_X, prefix)
  OPYARD_FUNCTIONALITIES(OPYARD_F, OPYARD_PB)
#undef OPYARD_F
#undef OPYARD_X
#undef OPYARD_PB
      EndOfRuntimeKeys,
#define OPYARD_A(name, groups, without, skip_lazy) name,
  OPYARD_ALIASES(OPYARD_A)
#undef OPYARD_A
      EndOfAliasKeys,
};

inline constexpr int kNumFunctionalities = static_cast<int>(DispatchKey::EndOfFunctionalityKeys);

// Why a functionality key is taken in by an alias key or a mask.
enum KeyGroup : uint8_t {
  kGroupNone = 0,
  kGroupBackend = 1,         // a device or layout that computes
  kGroupFunctionalOnly = 2,  // … and wants no kernels that write into their arguments
  kGroupNested = 4,
  kGroupImplicit = 8,  // served by implicit composites besides backends and autograd
  kGroupAutograd = 16,
  kGroupAutocast = 32,
  kGroupBatched = 64,
  kGroupIncluded = 128,  // in every call unless the thread takes it out
};

bool is_alias_key(DispatchKey key) noexcept;
// Exists per backend, so has a bit and no slot of its own.
bool is_building_block(DispatchKey key) noexcept;
// Owns a table slot; Undefined does too.
bool is_runtime_key(DispatchKey key) noexcept;
bool is_per_backend_runtime_key(DispatchKey key) noexcept;

// The functionality of a runtime key (CPU → Dense); the key itself where it is one; Undefined for
// alias keys.
DispatchKey functionality_of(DispatchKey key) noexcept;
Backend backend_of(DispatchKey key) noexcept;
// The runtime key of a building block at a backend; the key itself when it is no building block.
// Undefined when a building block meets Backend::kNone.
DispatchKey runtime_key(DispatchKey functionality, Backend backend) noexcept;
KeyGroup groups_of(DispatchKey key) noexcept;
// The autograd key that serves a backend: AutogradOther for kNone.
DispatchKey autograd_key(Backend backend) noexcept;
// The autocast key of a backend; Undefined where there is none.
DispatchKey autocast_key(Backend backend) noexcept;

// The name as people write it: "AutogradCPU", or with a private backend's name instead of
// PrivateUse1..3 ("AutogradMyDevice") once one is claimed.
std::string to_string(DispatchKey key);
std::string_view to_string(Backend backend) noexcept;
// Takes names, synonyms and names of private backends. Raises INVALID_ARGUMENT with "could not
// parse dispatch key" for anything else.
DispatchKey parse_dispatch_key(std::string_view name);
std::optional<DispatchKey> try_parse_dispatch_key(std::string_view name);
std::optional<Backend> try_parse_backend(std::string_view name);

// Gives a private backend (PrivateUse1..3) the name that a plugin claims; an empty name gives it
// back. Raises INVALID_ARGUMENT when the name is no word, ALREADY_EXISTS when the slot is taken by
// another or one of its keys would be spelled like another key. Any thread.
void set_private_backend_name(Backend backend, std::string_view name);
std::string private_backend_name(Backend backend);

}  // namespace opyard
