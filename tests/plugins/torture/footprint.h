#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What the process has: measured when nothing is under way, to be equal later.
namespace opyard::torture {

struct Footprint {
  uint64_t rss_bytes = 0;   // after what is free was given back to the kernel
  uint64_t heap_bytes = 0;  // in use, by malloc's own count
  uint64_t fds = 0;
  uint64_t threads = 0;
  uint64_t file_maps = 0;       // mappings of files
  uint64_t anonymous_maps = 0;  // all others
};

// Of this process, or of another by its number; that one's heap is not known.
Footprint measure_footprint();
Footprint footprint_of(const std::string& process);
std::string to_string(const Footprint& footprint);

// Lines of the process's maps with this text.
std::vector<std::string> mappings_with(const std::string& text,
                                       const std::string& process = "self");

// What has grown more than it may in `changes` changes; empty: nothing. Memory is left out under a
// sanitizer, whose quarantine and shadow grow. `more_threads`: that come and go on their own.
std::vector<std::string> growth(const Footprint& before, const Footprint& after, uint64_t changes,
                                uint64_t more_threads = 0);

}  // namespace opyard::torture
