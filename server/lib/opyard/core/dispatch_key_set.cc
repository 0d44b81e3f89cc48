#include "opyard/core/dispatch_key_set.h"

#include <array>

#include "opyard/base/check.h"

namespace opyard {
namespace {

constexpr std::array<bool, kNumFunctionalities> kIsPerBackend = {
    false,
#define OPYARD_F(name, groups) false,
#define OPYARD_PB(name, prefix, groups) true,
    OPYARD_FUNCTIONALITIES(OPYARD_F, OPYARD_PB)
#undef OPYARD_F
#undef OPYARD_PB
};

// Slots of all functionalities before f.
constexpr int first_slot(int f) {
  int first = 0;
  for (int i = 0; i < f; ++i) first += kIsPerBackend[i] ? kNumBackends : 1;
  return first;
}

constexpr detail::EntryOffset entry_offset(int f) {
  int first = 0;
  for (int i = 0; i < f; ++i) first += kIsPerBackend[i] ? kNumBackends + 1 : 1;
  return {static_cast<uint32_t>(first), kIsPerBackend[f] ? 0xffu : 0u};
}

// Layouts that every backend may have: what is per backend and computes.
constexpr uint64_t kLayoutBits = [] {
  uint64_t bits = 0;
  for (int f = 1; f < kNumFunctionalities; ++f) {
    const auto bit = uint64_t{1} << (KeySet::kFunctionalityShift + f - 1);
    if (kIsPerBackend[f]) bits |= bit;
  }
  return bits & KeySet::functionalities(kGroupBackend).bits();
}();

struct AliasRule {
  uint8_t groups;
  uint8_t without;
  bool skip_lazy;
};

constexpr AliasRule kAliasRules[] = {
#define OPYARD_A(name, groups, without, skip_lazy) \
  {static_cast<uint8_t>(groups), static_cast<uint8_t>(without), skip_lazy},
    OPYARD_ALIASES(OPYARD_A)
#undef OPYARD_A
};

uint64_t functionality_bit(int value) {
  return value == 0 ? 0 : uint64_t{1} << (KeySet::kFunctionalityShift + value - 1);
}

}  // namespace

namespace detail {
constinit const EntryOffsets kEntryOffsets = [] {
  EntryOffsets all{};
  for (int f = 0; f < kNumFunctionalities; ++f) {
    all.of_bit[KeySet::kFunctionalityShift - 1 + f] = entry_offset(f);
  }
  return all;
}();
}  // namespace detail

uint64_t KeySet::bits_of(DispatchKey key) noexcept {
  return functionality_bit(static_cast<int>(functionality_of(key))) | backend_bit(backend_of(key));
}

KeySet KeySet::full_after(DispatchKey key) noexcept {
  const int value = static_cast<int>(functionality_of(key));
  if (value == 0) return KeySet(kBackendBits).add(DispatchKey::PythonDispatcher);
  return KeySet(functionality_bit(value) - 1).add(DispatchKey::PythonDispatcher);
}

KeySet KeySet::below(DispatchKey key) noexcept { return full_after(key).remove(key); }

DispatchKey KeySet::highest_priority() const noexcept {
  return runtime_key(highest_functionality(), highest_backend());
}

DispatchKey KeySet::highest_priority_backend_key() const noexcept {
  return KeySet(bits_ & (kLayoutBits | kBackendBits)).highest_priority();
}

std::vector<DispatchKey> KeySet::keys() const {
  std::vector<DispatchKey> result;
  for (int f = 1; f < kNumFunctionalities; ++f) {
    if (!(bits_ & functionality_bit(f))) continue;
    const auto key = static_cast<DispatchKey>(f);
    if (!is_building_block(key)) {
      result.push_back(key);
      continue;
    }
    for (int b = 1; b <= kNumBackends; ++b) {
      const auto backend = static_cast<Backend>(b);
      if (has_backend(backend)) result.push_back(runtime_key(key, backend));
    }
  }
  return result;
}

std::string to_string(KeySet set) {
  std::string text = "DispatchKeySet(";
  const char* separator = "";
  for (const DispatchKey key : set.keys()) {
    text += separator + to_string(key);
    separator = ", ";
  }
  return text + ")";
}

int slot_of(DispatchKey key) {
  OPYARD_CHECK(is_runtime_key(key), kInvalidArgument, "the key '", to_string(key),
               "' owns no table slot; name a runtime key such as CPU or AutogradCPU");
  const int functionality = static_cast<int>(functionality_of(key));
  return first_slot(functionality) +
         (kIsPerBackend[functionality] ? static_cast<int>(backend_of(key)) - 1 : 0);
}

namespace {

struct SlotFacts {
  DispatchKey key;
  int16_t entry;
};

const std::array<SlotFacts, kNumSlots>& slot_facts() noexcept {
  static const std::array<SlotFacts, kNumSlots> facts = [] {
    std::array<SlotFacts, kNumSlots> made{};
    int f = 0;
    for (int slot = 0; slot < kNumSlots; ++slot) {
      if (f + 1 < kNumFunctionalities && first_slot(f + 1) == slot) ++f;
      const auto backend = static_cast<Backend>(slot - first_slot(f) + 1);
      const DispatchKey key = runtime_key(static_cast<DispatchKey>(f), backend);
      made[static_cast<size_t>(slot)] = {key, static_cast<int16_t>(KeySet(key).entry())};
    }
    return made;
  }();
  return facts;
}

}  // namespace

DispatchKey key_of_slot(int slot) noexcept { return slot_facts()[static_cast<size_t>(slot)].key; }
int entry_of_slot(int slot) noexcept { return slot_facts()[static_cast<size_t>(slot)].entry; }

int KeySet::slot() const noexcept { return slot_of(highest_priority()); }

bool alias_contains(DispatchKey alias, DispatchKey key) {
  if (!is_alias_key(alias)) return alias == key;
  const int first_alias = static_cast<int>(DispatchKey::EndOfRuntimeKeys) + 1;
  const AliasRule rule = kAliasRules[static_cast<int>(alias) - first_alias];
  const KeyGroup groups = groups_of(key);
  if (!(groups & rule.groups) || (groups & rule.without)) return false;
  const Backend backend = backend_of(key);
  return !(rule.skip_lazy && (backend == Backend::kXLA || backend == Backend::kLazy));
}

std::vector<DispatchKey> expand_alias(DispatchKey key) {
  if (!is_alias_key(key)) return {key};
  std::vector<DispatchKey> members;
  for (int slot = 0; slot < kNumSlots; ++slot) {
    if (const DispatchKey member = key_of_slot(slot); alias_contains(key, member)) {
      members.push_back(member);
    }
  }
  return members;
}

KeySet dense_tensor_keys(Backend backend) {
  return KeySet({runtime_key(DispatchKey::Dense, backend), DispatchKey::ADInplaceOrView,
                 autograd_key(backend), autocast_key(backend)});
}

}  // namespace opyard
