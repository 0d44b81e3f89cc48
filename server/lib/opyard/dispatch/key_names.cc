#include "opyard/dispatch/key_names.h"

#include <algorithm>

#include "opyard/base/check.h"

namespace opyard {
namespace {

// Fewer keys of a family are named one by one.
constexpr size_t kFewKeys = 3;

enum class Family : uint8_t { kNone, kAutograd, kAutocast, kPerBackend };

Family family_of(DispatchKey key) {
  const KeyGroup groups = groups_of(functionality_of(key));
  if (groups & kGroupAutograd) return Family::kAutograd;
  if (groups & kGroupAutocast) return Family::kAutocast;
  return is_per_backend_runtime_key(key) ? Family::kPerBackend : Family::kNone;
}

bool same_family(DispatchKey a, DispatchKey b) {
  const Family family = family_of(a);
  if (family == Family::kNone || family != family_of(b)) return false;
  return family != Family::kPerBackend || functionality_of(a) == functionality_of(b);
}

size_t family_size(DispatchKey member) {
  size_t size = 0;
  for (int slot = 0; slot < kNumSlots; ++slot) size += same_family(member, key_of_slot(slot));
  return size;
}

std::string family_name(DispatchKey member, size_t count) {
  const size_t size = family_size(member);
  const std::string part = count == size ? "" : str_cat(" (", count, " of ", size, ")");
  const DispatchKey functionality = functionality_of(member);
  switch (family_of(member)) {
    case Family::kAutograd:
      return "Autograd*" + part;
    case Family::kAutocast:
      return "Autocast*" + part;
    default:
      break;
  }
  if (functionality == DispatchKey::Dense) return part.empty() ? "all backends" : "backends" + part;
  return to_string(functionality) + "*" + part;
}

}  // namespace

std::vector<std::string> folded_key_names(ArrayRef<DispatchKey> keys) {
  std::vector<std::string> names;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto akin = [&](DispatchKey other) { return same_family(keys[i], other); };
    const auto count = static_cast<size_t>(std::count_if(keys.begin(), keys.end(), akin));
    if (count <= kFewKeys) {
      names.push_back(to_string(keys[i]));
    } else if (std::none_of(keys.begin(), keys.begin() + i, akin)) {
      names.push_back(family_name(keys[i], count));
    }
  }
  return names;
}

std::string key_list_text(KeySet keys) {
  std::vector<DispatchKey> list;
  for (const DispatchKey key : keys.keys()) list.push_back(key);
  std::string text;
  for (const std::string& name : folded_key_names(list)) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace opyard
