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

// Parts of take_array.
uint32_t checked_step(const void* first, uint64_t count, uint64_t most, uint32_t least,
                      std::string_view what);
void check_same_size(uint32_t size, uint32_t step, uint64_t index, std::string_view what);

// Copies of the records of an array, whose distance is their one struct_size. Raises
// INVALID_ARGUMENT as checked_size does, for sizes that differ and for more records than `most`.
template <typename T>
std::vector<T> take_array(const T* first, uint64_t count, uint64_t most, uint32_t least,
                          std::string_view what) {
  std::vector<T> copies;
  if (count == 0) return copies;
  const uint32_t step = checked_step(first, count, most, least, what);
  copies.reserve(count);
  const auto* bytes = reinterpret_cast<const char*>(first);
  for (uint64_t i = 0; i < count; ++i, bytes += step) {
    check_same_size(checked_size(bytes, least, what), step, i, what);
    copies.push_back(take<T>(bytes, least, what));
  }
  return copies;
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
