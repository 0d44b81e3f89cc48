#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "opyard/core/dispatch_key.h"

namespace opyard {

namespace detail {
// Where a functionality's entries begin in an operator's table, and whether the backend is added.
struct EntryOffset {
  uint32_t first;
  uint32_t backend_mask;  // 0xff: an entry per backend, and one for "no backend"; 0: a single one
};
// By the highest bit of a key set, so that no shift is needed. Those below the last backend's are
// not used; that one means "no functionality".
struct EntryOffsets {
  EntryOffset of_bit[64];
};
extern const EntryOffsets kEntryOffsets;
// Position of the highest bit; `bits` is not 0.
constexpr uint64_t highest_bit(uint64_t bits) noexcept {
  return static_cast<uint64_t>(__builtin_clzll(bits)) ^ 63u;
}
constexpr int count_per_backend_functionalities() {
  return 0
#define OPYARD_F(name, groups)
#define OPYARD_PB(name, prefix, groups) +1
      OPYARD_FUNCTIONALITIES(OPYARD_F, OPYARD_PB)
#undef OPYARD_F
#undef OPYARD_PB
          ;
}
}  // namespace detail

// Runtime keys, Undefined included: what a table is told about.
inline constexpr int kNumSlots =
    kNumFunctionalities + detail::count_per_backend_functionalities() * (kNumBackends - 1);
// How a table is laid out: each per-backend functionality has one entry more, for sets that name no
// backend. It repeats Undefined, so that finding an entry takes no branch.
inline constexpr int kNumEntries = kNumSlots + detail::count_per_backend_functionalities();

static_assert(kNumBackends + kNumFunctionalities - 1 <= 64,
              "the budget of a key set is used up: a bit per backend and per functionality key "
              "(Undefined has none) must fit into 64 bits");

// A set of dispatch keys in 64 bits: backends in the low 16, functionalities above. Only the two
// projections are stored, so a set always denotes their cross product: {CPU, AutogradCUDA} equals
// {CUDA, AutogradCPU}. Undefined and alias keys have no bits.
class KeySet {
 public:
  constexpr KeySet() noexcept = default;
  constexpr explicit KeySet(uint64_t bits) noexcept : bits_(bits) {}
  explicit KeySet(DispatchKey key) noexcept : bits_(bits_of(key)) {}
  explicit constexpr KeySet(Backend backend) noexcept : bits_(backend_bit(backend)) {}
  KeySet(std::initializer_list<DispatchKey> keys) noexcept {
    for (DispatchKey key : keys) bits_ |= bits_of(key);
  }

  static constexpr KeySet full() noexcept { return KeySet(kFullBits); }
  // Every bit strictly below the key's functionality, all backends, and PythonDispatcher, which
  // survives redispatch.
  static KeySet full_after(DispatchKey key) noexcept;
  // full_after without the key itself: what a kernel at `key` redispatches to.
  static KeySet below(DispatchKey key) noexcept;
  // The bit of a functionality key (not Undefined), without backends.
  static constexpr KeySet functionality(DispatchKey key) noexcept {
    return KeySet(uint64_t{1} << (kFunctionalityShift + static_cast<int>(key) - 1));
  }
  // All functionality keys with any of these groups, without backends.
  static constexpr KeySet functionalities(uint8_t groups) noexcept {
    uint64_t bits = 0;
    uint64_t bit = uint64_t{1} << kFunctionalityShift;
    const auto take = [&](int of_key) {
      if (of_key & groups) bits |= bit;
      bit <<= 1;
    };
#define OPYARD_F(name, groups_of_key) take(groups_of_key);
#define OPYARD_PB(name, prefix, groups_of_key) take(groups_of_key);
    OPYARD_FUNCTIONALITIES(OPYARD_F, OPYARD_PB)
#undef OPYARD_F
#undef OPYARD_PB
    return KeySet(bits);
  }

  constexpr uint64_t bits() const noexcept { return bits_; }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  bool has(DispatchKey key) const noexcept {
    const uint64_t wanted = bits_of(key);
    return wanted != 0 && (bits_ & wanted) == wanted;
  }
  constexpr bool has_backend(Backend backend) const noexcept {
    return (bits_ & backend_bit(backend)) != 0;
  }
  constexpr bool has_any(KeySet other) const noexcept { return (bits_ & other.bits_) != 0; }

  constexpr KeySet operator|(KeySet other) const noexcept { return KeySet(bits_ | other.bits_); }
  constexpr KeySet operator&(KeySet other) const noexcept { return KeySet(bits_ & other.bits_); }
  constexpr KeySet operator^(KeySet other) const noexcept { return KeySet(bits_ ^ other.bits_); }
  // Takes functionality bits away; backend bits of the left side always stay.
  constexpr KeySet operator-(KeySet other) const noexcept {
    return KeySet(bits_ & ~(other.bits_ & kFunctionalityBits));
  }
  constexpr bool operator==(const KeySet&) const noexcept = default;
  KeySet add(DispatchKey key) const noexcept { return KeySet(bits_ | bits_of(key)); }
  KeySet remove(DispatchKey key) const noexcept { return *this - KeySet(key); }
  constexpr KeySet remove_backend(Backend backend) const noexcept {
    return KeySet(bits_ & ~backend_bit(backend));
  }

  // Undefined (value 0) when no functionality bit is set.
  constexpr DispatchKey highest_functionality() const noexcept {
    return static_cast<DispatchKey>(highest_functionality_value());
  }
  constexpr Backend highest_backend() const noexcept {
    return static_cast<Backend>(highest_backend_value());
  }
  // The key that a call with this set goes to. A per-backend functionality without a backend
  // gives Undefined.
  DispatchKey highest_priority() const noexcept;
  // The same among Dense, Quantized, Sparse and SparseCsr only.
  DispatchKey highest_priority_backend_key() const noexcept;

  // The table entry of highest_priority(). Hot: two bit scans and one load.
  size_t entry() const noexcept {
    const auto& offset = detail::kEntryOffsets.of_bit[detail::highest_bit(bits_ | kNoneBit)];
    return offset.first + (highest_backend_value() & offset.backend_mask);
  }
  // The slot of highest_priority().
  int slot() const noexcept;

  // Runtime keys in ascending order: functionality first, then backend. Building blocks never
  // appear.
  std::vector<DispatchKey> keys() const;

  static constexpr int kFunctionalityShift = kNumBackends;
  static constexpr uint64_t kBackendBits = (uint64_t{1} << kNumBackends) - 1;
  static constexpr uint64_t kFunctionalityBits = ((uint64_t{1} << (kNumFunctionalities - 1)) - 1)
                                                 << kFunctionalityShift;
  static constexpr uint64_t kFullBits = kBackendBits | kFunctionalityBits;
  static constexpr uint64_t backend_bit(Backend backend) noexcept {
    return backend == Backend::kNone ? 0 : uint64_t{1} << (static_cast<int>(backend) - 1);
  }
  static uint64_t bits_of(DispatchKey key) noexcept;

 private:
  // A bit below the lowest one stands in for "none", so that neither scan has to ask.
  static constexpr uint64_t kNoneBit = uint64_t{1} << (kFunctionalityShift - 1);
  constexpr uint64_t highest_functionality_value() const noexcept {
    return detail::highest_bit(bits_ | kNoneBit) - (kFunctionalityShift - 1);
  }
  constexpr uint64_t highest_backend_value() const noexcept {
    return detail::highest_bit((bits_ * 2 + 1) & (kBackendBits * 2 + 1));
  }

  uint64_t bits_ = 0;
};

// Every Autograd key, and every Autocast key.
constexpr KeySet kAutogradKeys = KeySet::functionalities(kGroupAutograd);
constexpr KeySet kAutocastKeys = KeySet::functionalities(kGroupAutocast);

// "DispatchKeySet(CPU, AutogradCPU)", lowest priority first.
std::string to_string(KeySet set);

// The slot of a runtime key; raises INVALID_ARGUMENT for alias keys and building blocks.
int slot_of(DispatchKey key);
// The runtime key of a slot, and the entry that a table keeps for it.
DispatchKey key_of_slot(int slot) noexcept;
int entry_of_slot(int slot) noexcept;

// The runtime keys that an alias key stands for; the key itself when it is none.
std::vector<DispatchKey> expand_alias(DispatchKey key);
// Whether `key` (a runtime key) is a member of the alias.
bool alias_contains(DispatchKey alias, DispatchKey key);

// Keys of a plain tensor at a backend: {Dense, ADInplaceOrView, Autograd, Autocast}.
KeySet dense_tensor_keys(Backend backend);

}  // namespace opyard
