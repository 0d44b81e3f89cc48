#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "checks.h"
#include "leftovers.h"
#include "opyard/base/check.h"
#include "opyard/plugin/host.h"
#include "ready.h"
#include "report.h"

namespace opyard::worker {
namespace {

using plugin::Host;

// What a host keeps of a generation that has ended, and what malloc does not give back, is below
// this; a page for each cycle is far above.
constexpr uint64_t kSlackBytes = 2 << 20;
constexpr uint64_t kBytesEach = 512;

struct Size {
  uint64_t resident = 0;
  size_t threads = 0;
  size_t descriptors = 0;
  size_t mappings = 0;
};

Size measure() {
  Size size;
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> size.resident;
  size.resident *= static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++size.mappings;
  const Belongings now = look_around();
  size.threads = now.threads.size();
  size.descriptors = now.descriptors.size();
  return size;
}

void add_growth(const char* what, size_t before, size_t after, uint64_t cycles, size_t slack,
                std::string* text) {
  if (after <= before + slack) return;
  *text += str_cat(text->empty() ? "" : "; ", what, " grew from ", before, " to ", after, " in ",
                   cycles, " cycles");
}

}  // namespace

CheckResult check_cycles(const CheckInput& input) {
  Host& host = get_ready();
  // What is made once is there after these.
  const uint64_t first = std::max<uint64_t>(input.cycles / 10, 5);
  Size before;
  for (uint64_t cycle = 0; cycle < first + input.cycles; ++cycle) {
    if (cycle == first) before = measure();
    const std::string name = host.load(input.path, unprobed()).slot;
    const plugin::ChangeReport end = host.unload(name);
    if (end.old_state != plugin::State::kClosed) {
      return failed(str_cat("it was not unmapped in cycle ", cycle + 1, ": ", end.note));
    }
    report_progress(cycle + 1, first + input.cycles);
  }
  const Size after = measure();
  std::string growth;
  add_growth("threads", before.threads, after.threads, input.cycles, 0, &growth);
  add_growth("descriptors", before.descriptors, after.descriptors, input.cycles, 0, &growth);
  add_growth("mappings", before.mappings, after.mappings, input.cycles, input.cycles / 10, &growth);
  add_growth("resident bytes", before.resident, after.resident, input.cycles,
             kSlackBytes + kBytesEach * input.cycles, &growth);
  CheckResult result{growth.empty(), growth, {}};
  result.remarks.push_back(str_cat("after ", first, " and after ", first + input.cycles,
                                   " cycles: ", before.resident >> 10, " and ",
                                   after.resident >> 10, " KiB resident, ", before.mappings,
                                   " and ", after.mappings, " mappings"));
  return result;
}

}  // namespace opyard::worker
