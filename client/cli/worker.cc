#include "client/cli/worker.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "opyard/base/check.h"
#include "opyard/base/child_process.h"

namespace opyard::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kDiffPatience{120'000};
constexpr int kOutput = 1;

// Beside this program.
std::string find_worker() {
  const char* named = std::getenv("OPYARD_WORKER");
  std::string path = named ? named : "";
  if (path.empty()) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    path = (self.parent_path() / "opyard-worker").string();
  }
  OPYARD_CHECK(access(path.c_str(), X_OK) == 0, kUnavailable, "there is no program '", path,
               "', which tries plugins out; the environment variable OPYARD_WORKER can name it");
  return path;
}

// All that the worker prints.
std::string output_of(std::vector<std::string> words, milliseconds patience) {
  words.insert(words.begin(), find_worker());
  std::string text;
  const ChildEnd end = run_child(
      std::move(words), patience,
      [&](std::string_view line) {
        text += line;
        text += '\n';
        return true;
      },
      kOutput);
  OPYARD_CHECK(!text.empty(), kInternal,
               "the worker gave no answer: ", end.in_time ? end.text() : "it was too slow");
  return text;
}

nlohmann::json json_of(const std::string& text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    raise(Code::kInternal, str_cat("this is no answer of a worker: ", error.what()));
  }
}

// The lines of a check's report.
class Report {
 public:
  explicit Report(const std::function<void(uint64_t, uint64_t)>& progress) : progress_(progress) {}

  // False once the verdict is there.
  bool add(std::string_view line, CheckVerdict* verdict) {
    if (line.starts_with("step ")) step_ = line.substr(5, 200);
    if (line.starts_with("progress ")) tell(line.substr(9));
    if (!line.starts_with("{")) return true;
    const nlohmann::json json = json_of(std::string(line));
    verdict->passed = json.value("passed", false);
    verdict->reason = json.value("reason", "");
    verdict->remarks = json.value("remarks", std::vector<std::string>{});
    told_ = true;
    return false;
  }
  bool told() const { return told_; }
  const std::string& step() const { return step_; }

 private:
  void tell(std::string_view numbers) {
    uint64_t done = 0;
    uint64_t of = 0;
    const char* end = numbers.data() + numbers.size();
    const auto first = std::from_chars(numbers.data(), end, done);
    if (first.ec != std::errc() || first.ptr == end) return;
    if (std::from_chars(first.ptr + 1, end, of).ec == std::errc()) progress_(done, of);
  }

  const std::function<void(uint64_t, uint64_t)>& progress_;
  std::string step_ = "starting";
  bool told_ = false;
};

}  // namespace

bool is_file_name(std::string_view word) {
  return word.find('/') != std::string_view::npos || word.ends_with(".so");
}

std::vector<client::PluginDifference> diff_files(const std::string& before,
                                                 const std::string& after) {
  const nlohmann::json json = json_of(output_of({"diff", before, after}, kDiffPatience));
  std::vector<client::PluginDifference> differences;
  try {
    if (json.is_object()) {
      Code code = Code::kInternal;
      static_cast<void>(parse_code(std::string(json.at("code")), &code));
      raise(code, json.at("message"));
    }
    for (const nlohmann::json& one : json) {
      differences.push_back(
          {one.at("kind"), one.at("what"), one.at("before"), one.at("after"), one.at("needs")});
    }
  } catch (const nlohmann::json::exception& error) {
    raise(Code::kInternal, str_cat("this is no answer of a worker: ", error.what()));
  }
  return differences;
}

std::vector<CheckName> worker_checks() {
  std::vector<CheckName> names;
  const std::string text = output_of({"checks"}, milliseconds(30'000));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const size_t tab = std::min(line.find('\t'), line.size());
    names.push_back({line.substr(0, tab), line.substr(std::min(tab + 1, line.size()))});
    at = end + 1;
  }
  return names;
}

CheckVerdict run_check(const std::string& name, const std::string& file, uint64_t cycles,
                       milliseconds patience,
                       const std::function<void(uint64_t done, uint64_t of)>& progress) {
  const auto start = steady_clock::now();
  CheckVerdict verdict;
  verdict.name = name;
  Report report(progress);
  const ChildEnd end =
      run_child({find_worker(), "check", name, file, std::to_string(cycles)}, patience,
                [&](std::string_view line) { return report.add(line, &verdict); });
  if (!report.told()) {
    verdict.reason = end.in_time ? str_cat(end.text(), " while ", report.step())
                                 : str_cat("it was still ", report.step(), " after ",
                                           patience.count() / 1000.0, " s");
  }
  verdict.started = report.step() != "starting" && report.step() != "loading it";
  verdict.ms = static_cast<uint64_t>(
      std::chrono::duration_cast<milliseconds>(steady_clock::now() - start).count());
  return verdict;
}

}  // namespace opyard::cli
