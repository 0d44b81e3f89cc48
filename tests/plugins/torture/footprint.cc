#include "tests/plugins/torture/footprint.h"

#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "opyard/base/check.h"

namespace opyard::torture {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryCounts = false;
#else
constexpr bool kMemoryCounts = true;
#endif

// A generation that stayed would cost its mappings, some 60 KiB at the least; 1,000 of them 60 MiB.
// What may grow: tables of what was ever seen (names of operators, the loader's own lists), and
// pages that malloc keeps in use for single blocks.
constexpr uint64_t kRssPerChange = 4096;
constexpr uint64_t kRssAtAll = 2u << 20;
constexpr uint64_t kHeapPerChange = 256;
constexpr uint64_t kHeapAtAll = 256u << 10;
// An arena of malloc is two mappings, and a new one may be made by any new thread, up to 8 a core.
constexpr uint64_t kMoreAnonymous = 40;

uint64_t entries_in(const std::string& folder) {
  const auto all = std::filesystem::directory_iterator(folder);
  return static_cast<uint64_t>(std::distance(begin(all), end(all)));
}

uint64_t resident_bytes(const std::string& process) {
  std::ifstream file("/proc/" + process + "/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::vector<std::string> mappings_with(const std::string& text, const std::string& process) {
  std::vector<std::string> lines;
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(text) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

Footprint footprint_of(const std::string& process) {
  Footprint now;
  now.rss_bytes = resident_bytes(process);
  now.fds = entries_in("/proc/" + process + "/fd");
  now.threads = entries_in("/proc/" + process + "/task");
  now.file_maps = mappings_with(" /", process).size();
  now.anonymous_maps = mappings_with("", process).size() - now.file_maps;
  return now;
}

Footprint measure_footprint() {
  malloc_trim(0);
  Footprint now = footprint_of("self");
  now.heap_bytes = mallinfo2().uordblks;
  return now;
}

std::string to_string(const Footprint& footprint) {
  return str_cat("RSS ", footprint.rss_bytes >> 10, " KiB, heap in use ",
                 footprint.heap_bytes >> 10, " KiB, ", footprint.fds, " fds, ", footprint.threads,
                 " threads, ", footprint.file_maps, " mappings of files and ",
                 footprint.anonymous_maps, " others");
}

std::vector<std::string> growth(const Footprint& before, const Footprint& after, uint64_t changes,
                                uint64_t more_threads) {
  std::vector<std::string> grown;
  const auto check = [&](const char* what, uint64_t was, uint64_t is, uint64_t may) {
    if (is > was + may) {
      grown.push_back(str_cat(what, " grew from ", was, " to ", is, ", by more than ", may, " in ",
                              changes, " changes"));
    }
  };
  check("the number of fds", before.fds, after.fds, 0);
  check("the number of threads", before.threads, after.threads, more_threads);
  if (!kMemoryCounts) return grown;
  check("the number of mapped files", before.file_maps, after.file_maps, 0);
  check("the number of other mappings", before.anonymous_maps, after.anonymous_maps,
        kMoreAnonymous);
  check("RSS", before.rss_bytes, after.rss_bytes, kRssAtAll + kRssPerChange * changes);
  check("the heap in use", before.heap_bytes, after.heap_bytes,
        kHeapAtAll + kHeapPerChange * changes);
  return grown;
}

}  // namespace opyard::torture
