#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <iosfwd>
#include <set>
#include <string>

#include "client/local/check_result.h"

// What both kinds of case file share: reading them safely, and telling of what failed.

namespace opyard::client {

// The `cases` of a file. Refuses anchors and aliases (they can make a small file stand for a huge
// one), files above 16 MiB and nesting deeper than 64. Raises as check_dispatch_file says.
YAML::Node load_cases(const std::string& path);

// Collects what is told of a file: a line per failing case, one note per kind of thing that was
// passed over.
class Report {
 public:
  Report(std::string file, std::ostream& out) : file_(std::move(file)), out_(out) {}

  // Runs one case; an exception fails it with its message.
  void run(const std::string& name, const std::function<void()>& body);
  void note(const std::string& text);
  // Notes every key of a mapping that is not among `known`.
  void note_unknown(const YAML::Node& mapping, const std::set<std::string>& known);
  const CheckResult& result() const noexcept { return result_; }

 private:
  const std::string file_;
  std::ostream& out_;
  std::set<std::string> noted_;
  CheckResult result_;
};

// Ends a case: what was wanted and did not hold.
struct CaseFailure {
  std::string message;
};
[[noreturn]] void fail_case(std::string message);

// What an error must look like: a pattern to be found in its message, a canonical code; either may
// be empty.
struct WantedError {
  std::string pattern;
  std::string code;
  explicit operator bool() const noexcept { return !pattern.empty() || !code.empty(); }
};
WantedError wanted_error(const YAML::Node& node);
// Runs `body`, which must fail that way. Any other outcome ends the case; `what` names it.
void expect_error(const WantedError& wanted, const std::string& what,
                  const std::function<void()>& body);

}  // namespace opyard::client
