#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/base/array_ref.h"
#include "opyard_plugin.h"

namespace opyard::plugin {

// The struct_size of a record of the C interface. Raises INVALID_ARGUMENT for a null record and for
// a size below `least`, what version 1.0 had, or one that no version will have.
uint32_t checked_size(const void* record, uint32_t least, std::string_view what);

// A copy of the record in this host's size: fields that it does not have are zero, those that this
// host does not know are left out.
template <typename T>
T take(const void* record, uint32_t least, std::string_view what) {
  const uint32_t size = checked_size(record, least, what);
  T copy{};
  std::memcpy(&copy, record, std::min<size_t>(size, sizeof(T)));
  copy.struct_size = sizeof(T);
  return copy;
}

// A copy of a text. Raises INVALID_ARGUMENT for one that is null or longer than `most`.
std::string take_text(opyard_str text, uint32_t most, std::string_view what);

// The blocks that a plugin handed over, in records of this host's size. The texts stay the
// plugin's.
class Records {
 public:
  Records(const opyard_block* first, uint64_t count);
  Records(Records&&) = default;
  ArrayRef<opyard_block> blocks() const noexcept { return blocks_; }

 private:
  std::vector<opyard_block> blocks_;
  std::vector<std::vector<opyard_registration>> registrations_;
};

}  // namespace opyard::plugin
