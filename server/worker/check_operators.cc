#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "calls.h"
#include "checks.h"
#include "opyard/base/check.h"
#include "ready.h"
#include "report.h"

namespace opyard::worker {
namespace {

constexpr char kWatchful[] = "libc_malloc_debug.so.0";
constexpr size_t kShown = 5;

bool is_watchful() {
  const char* level = std::getenv("MALLOC_CHECK_");
  return level && std::string_view(level) == "3";
}

// Once more from the start, with an allocator that ends the process when a block was written past
// or freed twice; this one goes on when there is none.
void become_watchful(const CheckInput& input) {
  if (is_watchful()) return;
  setenv("LD_PRELOAD", kWatchful, 1);
  setenv("MALLOC_CHECK_", "3", 1);
  execl("/proc/self/exe", "opyard-worker", "check", "operators", input.path.c_str(), nullptr);
}

// Kernels for operators that are not there: a mistake when there are no others.
void tell_undefined(const plugin::Description& description, bool none_called, CheckResult* result) {
  const std::vector<std::string> undefined = undefined_operators(description);
  std::string names;
  for (size_t i = 0; i < std::min(undefined.size(), kShown); ++i) {
    names += (i == 0 ? "" : ", ") + undefined[i];
  }
  if (undefined.empty()) return;
  if (undefined.size() > kShown) names += str_cat(", and ", undefined.size() - kShown, " more");
  if (none_called) {
    result->reason = str_cat("none of its kernels could be called: nobody defines ", names);
  } else {
    result->remarks.push_back("nobody defines " + names);
  }
}

}  // namespace

CheckResult check_operators(const CheckInput& input) {
  become_watchful(input);
  plugin::Host& host = get_ready();
  report_step("loading it");
  const std::string slot = host.load(input.path, unprobed()).slot;
  const plugin::Description description = host.describe(slot);
  const std::vector<Callee> kernels = callees(description);
  CheckResult result;
  tell_undefined(description, kernels.empty(), &result);
  size_t answered = 0;
  size_t problems = 0;
  for (const Callee& callee : kernels) {
    for (const Filling filling :
         {Filling::kMissing, Filling::kWrong, Filling::kUndefined, Filling::kSound}) {
      const Answer answer = call(callee, filling);
      answered += filling == Filling::kSound && !answer.refused;
      if (answer.problem.empty()) continue;
      if (++problems > kShown) continue;
      result.reason +=
          str_cat(result.reason.empty() ? "" : "; ", callee.name, ": ", answer.problem);
    }
  }
  if (problems > kShown) result.reason += str_cat("; and ", problems - kShown, " more");
  result.passed = result.reason.empty();
  result.remarks.push_back(str_cat(kernels.size(), " kernels were called, ", answered,
                                   " of them had results for sound arguments"));
  if (!is_watchful()) {
    result.remarks.push_back(str_cat("without ", kWatchful,
                                     ", so nobody has seen whether blocks of memory were written "
                                     "past or freed twice"));
  }
  report_step("unloading it");
  host.unload(slot);
  return result;
}

}  // namespace opyard::worker
