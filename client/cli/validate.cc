#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "client/cli/literal.h"
#include "client/cli/plugin.h"
#include "client/cli/worker.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using std::chrono::milliseconds;

// A cycle takes some milliseconds; this is for slow machines.
constexpr uint64_t kMsPerCycle = 100;

// "cycles: 340 of 1100" on the terminal while it runs, and nothing afterwards.
class Progress {
 public:
  explicit Progress(const std::string& name) : name_(name) {}
  ~Progress() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void tell(uint64_t done, uint64_t of) {
    if (!terminal_) return;
    shown_ = true;
    std::fprintf(stderr, "\r%s: %llu of %llu\x1b[K", name_.c_str(),
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(of));
  }

 private:
  const std::string& name_;
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

std::vector<std::string> wanted_checks(const Options& options) {
  std::vector<std::string> names;
  std::string known;
  for (const CheckName& check : worker_checks()) {
    names.push_back(check.name);
    known += str_cat(known.empty() ? "" : ", ", check.name);
  }
  for (const std::string& name : options.plugin.checks) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw UsageError(str_cat("there is no check '", name, "'; there are: ", known));
    }
  }
  return options.plugin.checks.empty() ? names : options.plugin.checks;
}

milliseconds patience_for(const std::string& name, const Options& options) {
  const double seconds = options.plugin.timeout_seconds;
  if (!(seconds >= 0.001 && seconds <= 24 * 3600)) {
    throw UsageError(str_cat("--timeout wants 0.001 to 86400 seconds, got ", seconds));
  }
  const milliseconds patience(static_cast<int64_t>(seconds * 1000));
  if (name != "cycles") return patience;
  return patience + milliseconds(kMsPerCycle * options.plugin.cycles);
}

std::string cell(std::string text, size_t columns) {
  return text.size() < columns ? text + std::string(columns - text.size(), ' ') : text;
}

void print(const CheckVerdict& verdict, std::ostream& out) {
  const std::string ms = str_cat(verdict.ms, " ms");
  const char* end = !verdict.ran ? "not run" : verdict.passed ? "passed" : "FAILED";
  std::string said = verdict.reason.empty() ? ms : cell(ms, 10) + verdict.reason;
  if (!verdict.ran) said = verdict.reason;
  out << cell(verdict.name, 11) << cell(end, 8) << said << "\n";
  for (const std::string& remark : verdict.remarks) out << "           " << remark << "\n";
  out.flush();
}

struct Counts {
  size_t passed = 0;
  size_t failed = 0;
  size_t not_run = 0;
};
Counts count(const std::vector<CheckVerdict>& verdicts) {
  Counts counts;
  for (const CheckVerdict& one : verdicts) {
    ++(!one.ran ? counts.not_run : one.passed ? counts.passed : counts.failed);
  }
  return counts;
}

// All checks but the one of the file alone want a plugin that starts; `lifecycle` has told, then.
bool is_told_already(const std::string& name, const std::vector<CheckVerdict>& verdicts) {
  return name != "lint" && std::any_of(verdicts.begin(), verdicts.end(), [](const auto& one) {
           return one.name == "lifecycle" && !one.passed && !one.started;
         });
}

CheckVerdict not_run(const std::string& name) {
  CheckVerdict verdict;
  verdict.name = name;
  verdict.ran = false;
  verdict.reason = "it does not start";
  return verdict;
}

// Texts come from a plugin: what XML cannot say is left out.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

void write_junit(const std::string& path, const std::string& file,
                 const std::vector<CheckVerdict>& verdicts) {
  const Counts counts = count(verdicts);
  std::ofstream out(path);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << "<testsuite name=\"" << escaped(file) << "\" tests=\"" << verdicts.size()
      << "\" failures=\"" << counts.failed << "\" skipped=\"" << counts.not_run << "\">\n";
  for (const CheckVerdict& one : verdicts) {
    out << "  <testcase classname=\"opyard.plugin.validate\" name=\"" << escaped(one.name)
        << "\" time=\"" << static_cast<double>(one.ms) / 1000 << "\">\n";
    if (!one.ran) out << "    <skipped message=\"" << escaped(one.reason) << "\"/>\n";
    if (one.ran && !one.passed) out << "    <failure message=\"" << escaped(one.reason) << "\"/>\n";
    out << "    <system-out>";
    for (const std::string& remark : one.remarks) out << escaped(remark) << "\n";
    out << "</system-out>\n  </testcase>\n";
  }
  out << "</testsuite>\n";
  out.close();
  OPYARD_CHECK(out.good(), kPermissionDenied, "the report '", path, "' could not be written");
}

std::string to_json(const std::string& file, bool passed,
                    const std::vector<CheckVerdict>& verdicts) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const CheckVerdict& one : verdicts) {
    checks.push_back({{"name", one.name},
                      {"passed", one.passed},
                      {"ran", one.ran},
                      {"ms", one.ms},
                      {"reason", one.reason},
                      {"remarks", one.remarks}});
  }
  const nlohmann::ordered_json json = {{"file", file}, {"passed", passed}, {"checks", checks}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int plugin_validate(const Options& options, std::ostream& out) {
  const std::string& file = options.plugin.file;
  OPYARD_CHECK(access(file.c_str(), R_OK) == 0, kNotFound, "there is no readable file '", file,
               "'");
  std::vector<CheckVerdict> verdicts;
  for (const std::string& name : wanted_checks(options)) {
    if (is_told_already(name, verdicts)) {
      verdicts.push_back(not_run(name));
    } else {
      Progress progress(name);
      verdicts.push_back(run_check(name, file, options.plugin.cycles, patience_for(name, options),
                                   [&](uint64_t done, uint64_t of) { progress.tell(done, of); }));
    }
    if (!options.json) print(verdicts.back(), out);
  }
  const Counts counts = count(verdicts);
  const bool passed = counts.passed == verdicts.size();
  if (options.json) {
    out << to_json(file, passed, verdicts);
  } else {
    out << counts.passed << " passed, " << counts.failed << " failed";
    if (counts.not_run > 0) out << ", " << counts.not_run << " not run";
    out << "\n";
  }
  if (!options.plugin.junit.empty()) write_junit(options.plugin.junit, file, verdicts);
  return passed ? 0 : 1;
}

}  // namespace opyard::cli
