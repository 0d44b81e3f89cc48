#include "checks.h"

#include <array>
#include <nlohmann/json.hpp>

#include "life.h"
#include "opyard/base/check.h"
#include "opyard/plugin/lint.h"
#include "report.h"

namespace opyard::worker {
namespace {

constexpr std::array<Check, 7> kChecks = {{
    {"lint", "what the file says of itself", &check_lint},
    {"lifecycle", "one whole life: loaded, active, ended, proved unmapped", &check_life},
    {"leftovers", "threads, descriptors and keys after that life", &check_leftovers},
    {"cycles", "loaded and unloaded again and again: nothing grows", &check_cycles},
    {"failures", "a host whose functions fail: no crash, nothing left", &check_failures},
    {"operators", "every kernel with sound, wrong, missing and undefined arguments",
     &check_operators},
    {"unloading", "unloaded while threads call its operators", &check_unloading},
}};

// What did not let it live, or did not let it go.
std::string why_not(const plugin::Verdict& verdict) {
  if (!verdict.lived) return verdict.problem;
  return verdict.left_mapped;
}

}  // namespace

ArrayRef<Check> checks() { return {kChecks.data(), kChecks.size()}; }

const Check& find_check(std::string_view name) {
  std::string names;
  for (const Check& check : kChecks) {
    if (check.name == name) return check;
    names += (names.empty() ? "" : ", ") + std::string(check.name);
  }
  raise(Code::kNotFound, str_cat("there is no check '", name, "'; there are: ", names));
}

CheckResult failed(std::string reason) { return {false, std::move(reason), {}}; }

std::string to_json(const CheckResult& result) {
  const nlohmann::json json = {
      {"passed", result.passed}, {"reason", result.reason}, {"remarks", result.remarks}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

CheckResult check_lint(const CheckInput& input) {
  const plugin::LintReport report = plugin::lint(input.path);
  CheckResult result;
  for (const std::string& name : report.pinned_dependencies) {
    result.remarks.push_back(name + ", which it needs, never leaves a process");
  }
  for (const auto* texts : {&report.warnings, &report.remarks}) {
    result.remarks.insert(result.remarks.end(), texts->begin(), texts->end());
  }
  if (!report.pins.empty()) {
    result.passed = false;
    for (const std::string& pin : report.pins) {
      result.reason += (result.reason.empty() ? "" : " ") + pin;
    }
  }
  return result;
}

CheckResult check_life(const CheckInput& input) {
  const std::string reason = why_not(live(input.path, &report_step));
  return reason.empty() ? CheckResult{} : failed(reason);
}

CheckResult check_leftovers(const CheckInput& input) {
  const plugin::Verdict verdict = live(input.path, &report_step);
  if (!verdict.lived) return failed(verdict.problem);
  CheckResult result{verdict.leftovers.empty(), {}, {}};
  for (const std::string& thing : verdict.leftovers) {
    result.reason += (result.reason.empty() ? "it left " : ", ") + thing;
  }
  return result;
}

}  // namespace opyard::worker
