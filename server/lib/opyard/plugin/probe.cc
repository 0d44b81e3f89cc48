#include "opyard/plugin/probe.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "opyard/base/check.h"
#include "opyard/base/child_process.h"
#include "opyard/plugin/control_thread.h"

namespace opyard::plugin {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRemembered = 1024;

void landmark() {}

// The report is lines "step NAME", then the verdict as JSON.
class Report {
 public:
  // False once the verdict is there.
  bool add(std::string_view line) {
    if (line.starts_with("step ")) step_ = line.substr(5, 64);
    if (line.starts_with("{")) read(line);
    return !verdict_;
  }
  Verdict judge(const ChildEnd& end, std::chrono::milliseconds patience) const {
    if (verdict_) return *verdict_;
    Verdict verdict;
    verdict.problem = end.in_time
                          ? str_cat(end.text(), " while ", step_)
                          : str_cat("it was still ", step_, " after ", patience.count(), " ms");
    return verdict;
  }

 private:
  void read(std::string_view line) {
    try {
      verdict_ = verdict_from_json(line);
    } catch (const Error& error) {  // the plugin has written into the report
      verdict_.emplace().problem = error.message();
    }
  }

  std::string step_ = "starting";
  std::optional<Verdict> verdict_;
};

}  // namespace

std::string find_worker(const HostOptions& options) {
  std::error_code error;
  std::string path = options.worker;
  if (path.empty()) {
    Dl_info info = {};
    if (dladdr(reinterpret_cast<const void*>(&landmark), &info) == 0 || !info.dli_fname) return {};
    const fs::path library = fs::canonical(info.dli_fname, error);
    path = (library.parent_path().parent_path() / "bin/opyard-worker").string();
  }
  return !error && access(path.c_str(), X_OK) == 0 ? path : std::string();
}

Verdict probe(const std::string& worker, const std::string& path,
              std::chrono::milliseconds patience) {
  const Clock::time_point start = Clock::now();
  Report report;
  const ChildEnd end = run_child({worker, "probe", path}, patience,
                                 [&](std::string_view line) { return report.add(line); });
  Verdict verdict = report.judge(end, patience);
  verdict.ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
  return verdict;
}

Verdict remembered_probe(const std::string& worker, const StoredFile& file,
                         std::chrono::milliseconds patience) {
  static std::mutex mutex;
  static std::map<std::string, Verdict>& known = *new std::map<std::string, Verdict>;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(file.hash); found != known.end()) return found->second;
  }
  const Verdict verdict = probe(worker, file.path, patience);
  const std::lock_guard lock(mutex);
  if (known.size() >= kRemembered) known.clear();
  // What failed may have failed for want of time or memory: it is tried again.
  // The hash is that of the file alone, so what brings libraries along is tried again, too.
  if (verdict.lived && file.private_libraries.empty()) known[file.hash] = verdict;
  return verdict;
}

std::string to_json(const Verdict& verdict) {
  const nlohmann::json json = {{"lived", verdict.lived},
                               {"problem", verdict.problem},
                               {"left_mapped", verdict.left_mapped},
                               {"leftovers", verdict.leftovers},
                               {"description", to_json(verdict.description)}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Verdict verdict_from_json(std::string_view text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    Verdict verdict;
    verdict.lived = json.at("lived");
    verdict.problem = json.at("problem");
    verdict.left_mapped = json.at("left_mapped");
    verdict.leftovers = json.at("leftovers");
    verdict.description = description_from_json(std::string(json.at("description")));
    return verdict;
  } catch (const nlohmann::json::exception& error) {
    raise(Code::kInvalidArgument, str_cat("this is no verdict of a worker: ", error.what()));
  }
}

}  // namespace opyard::plugin
