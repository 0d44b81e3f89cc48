#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/base/array_ref.h"

namespace opyard::worker {

// What a check has found. `reason` when it has not passed; remarks are for people either way.
struct CheckResult {
  bool passed = true;
  std::string reason;
  std::vector<std::string> remarks;
};
std::string to_json(const CheckResult& result);

struct CheckInput {
  std::string path;
  uint64_t cycles = 1000;
};

// Checks that `opyard plugin validate` carries out, each in a process of its own, in which nothing
// else happens. An exception is a failure.
struct Check {
  std::string_view name;
  std::string_view what;
  CheckResult (*run)(const CheckInput&);
};
ArrayRef<Check> checks();
// Raises NOT_FOUND naming those that there are.
const Check& find_check(std::string_view name);

CheckResult check_lint(const CheckInput& input);       // checks.cc
CheckResult check_life(const CheckInput& input);       // checks.cc
CheckResult check_leftovers(const CheckInput& input);  // checks.cc
CheckResult check_cycles(const CheckInput& input);     // check_cycles.cc
CheckResult check_failures(const CheckInput& input);   // check_failures.cc
CheckResult check_operators(const CheckInput& input);  // check_operators.cc
CheckResult check_unloading(const CheckInput& input);  // check_unloading.cc

// A failure with this reason.
CheckResult failed(std::string reason);

}  // namespace opyard::worker
