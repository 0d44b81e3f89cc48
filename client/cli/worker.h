#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cpp/admin.h"

namespace opyard::cli {

// What is tried out with opyard-worker: no file of a plugin is mapped into this process. All raise
// UNAVAILABLE when the worker is not there.

// "./x.so", "x.so": no name of a plugin in a daemon.
bool is_file_name(std::string_view word);

std::vector<client::PluginDifference> diff_files(const std::string& before,
                                                 const std::string& after);

struct CheckName {
  std::string name;
  std::string what;
};
std::vector<CheckName> worker_checks();

struct CheckVerdict {
  std::string name;
  bool passed = false;
  bool ran = true;       // false: nothing was found out, `reason` says why
  bool started = false;  // the plugin, as far as the worker has told: its loading was over
  uint64_t ms = 0;
  std::string reason;
  std::vector<std::string> remarks;
};
// One check in a process of its own, which ends after `patience`. `progress` is told how far it is.
CheckVerdict run_check(const std::string& name, const std::string& file, uint64_t cycles,
                       std::chrono::milliseconds patience,
                       const std::function<void(uint64_t done, uint64_t of)>& progress);

}  // namespace opyard::cli
