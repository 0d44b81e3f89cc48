#include "opyard/runtime/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

namespace opyard::runtime {
namespace {

// The words of a small file's first line; empty when there is none.
std::vector<std::string> words_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

double number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? static_cast<double>(value) : 0;
}

// A limit holds for everything below it, so all directories from the process's own up to the root
// count.
std::vector<std::string> cgroup_directories() {
  std::vector<std::string> directories = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu",
                                          "/sys/fs/cgroup/memory"};
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    std::string base = "/sys/fs/cgroup";
    if (controllers.find("memory") != std::string::npos) base += "/memory";
    if (controllers.find("cpu,") == 0 || controllers == "cpu") base += "/cpu";
    while (path.size() > 1) {
      directories.push_back(base + path);
      path.resize(path.rfind('/'));
    }
  }
  return directories;
}

}  // namespace

double cgroup_cores(const std::string& directory) {
  const std::vector<std::string> modern = words_of(directory + "/cpu.max");
  if (modern.size() == 2) {
    const double quota = number(modern[0]);  // "max" gives 0
    const double period = number(modern[1]);
    return quota > 0 && period > 0 ? quota / period : 0;
  }
  const std::vector<std::string> quota = words_of(directory + "/cpu.cfs_quota_us");
  const std::vector<std::string> period = words_of(directory + "/cpu.cfs_period_us");
  if (quota.empty() || period.empty()) return 0;
  const double q = number(quota[0]);
  const double p = number(period[0]);
  return q > 0 && p > 0 ? q / p : 0;
}

uint64_t cgroup_memory(const std::string& directory) {
  for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
    const std::vector<std::string> words = words_of(directory + name);
    // Version 1 says "no limit" by a number near 2^63.
    const double bytes = words.empty() ? 0 : number(words[0]);
    if (bytes > 0 && bytes < 9e18) return static_cast<uint64_t>(bytes);
  }
  return 0;
}

Machine Machine::detect() {
  double cores = static_cast<double>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  if (sched_getaffinity(0, sizeof(affinity), &affinity) == 0 && CPU_COUNT(&affinity) > 0) {
    cores = std::min(cores, static_cast<double>(CPU_COUNT(&affinity)));
  }
  uint64_t memory = static_cast<uint64_t>(std::max(1L, sysconf(_SC_PHYS_PAGES))) *
                    static_cast<uint64_t>(std::max(1L, sysconf(_SC_PAGESIZE)));
  for (const std::string& directory : cgroup_directories()) {
    const double allowed_cores = cgroup_cores(directory);
    if (allowed_cores > 0) cores = std::min(cores, allowed_cores);
    const uint64_t allowed_memory = cgroup_memory(directory);
    if (allowed_memory > 0) memory = std::min(memory, allowed_memory);
  }
  Machine machine;
  machine.cores = std::max(1, static_cast<int>(std::ceil(cores)));
  machine.memory_bytes = memory;
  return machine;
}

}  // namespace opyard::runtime
