#pragma once

#include <cstdint>
#include <string>

namespace opyard::runtime {

// What this process may use, by its cgroup (version 2 or 1) and its CPU affinity, never more than
// the machine has.
struct Machine {
  int cores = 1;
  uint64_t memory_bytes = 0;

  static Machine detect();
};

// The two readers behind it, on a cgroup directory; 0 when the directory sets no limit.
double cgroup_cores(const std::string& directory);
uint64_t cgroup_memory(const std::string& directory);

}  // namespace opyard::runtime
