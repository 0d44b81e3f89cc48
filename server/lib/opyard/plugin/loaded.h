#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace opyard::plugin {

// A library or program that is in this process now, as the loader lists it.
struct LoadedObject {
  std::string path;  // as it was opened; empty for the program itself
  std::string soname;
  std::vector<std::string> needed;
  bool never_leaves = false;                            // DF_1_NODELETE
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;  // of its segments: first byte, behind last
};

// For ThreadSanitizer, which does not see that the loader's lock orders this: before something is
// unmapped, and after something was mapped, perhaps at the same place.
void note_unmapping() noexcept;
void note_mapping() noexcept;

// Everything that is loaded, in the loader's order. Any thread; waits while another thread is
// within dlopen or dlclose.
std::vector<LoadedObject> loaded_objects();

// The lines of /proc/self/maps whose file is `path` or lies below it (`path` ends in a slash then).
std::vector<std::string> mappings_of(const std::string& path);

}  // namespace opyard::plugin
