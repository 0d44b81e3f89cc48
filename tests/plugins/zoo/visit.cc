#include "visit.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "opyard/base/check.h"
#include "opyard/base/child_process.h"
#include "opyard/core/tensor.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard::zoo {

using plugin::GenerationInfo;
using plugin::Host;
using plugin::State;

std::string path_of(std::string_view animal) { return str_cat(ZOO_DIR "/", animal, ".so"); }

int64_t call_number(std::string_view op, int64_t n) {
  Dispatcher& dispatcher = Dispatcher::global();
  return dispatcher.call<int64_t, int64_t>(dispatcher.get(op), std::move(n));
}

Said run_worker(const std::vector<std::string>& words) {
  std::string command = "'" OPYARD_WORKER "'";
  for (const std::string& word : words) command += " '" + word + "'";
  Said said;
  FILE* pipe = popen((command + " 2>&1 3>&1").c_str(), "r");
  if (!pipe) raise(Code::kUnavailable, "the worker does not start");
  char buffer[4096];
  for (size_t count = 0; (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    said.text.append(buffer, count);
  }
  said.status = WEXITSTATUS(pclose(pipe));
  return said;
}

std::string run_check(std::string_view check, std::string_view animal) {
  std::string step;
  std::string reason;
  bool told = false;
  const ChildEnd end =
      run_child({OPYARD_WORKER, "check", std::string(check), path_of(animal), "200"},
                std::chrono::milliseconds(60'000), [&](std::string_view line) {
                  if (line.starts_with("step ")) step = line.substr(5);
                  if (!line.starts_with("{")) return true;
                  const nlohmann::json said = nlohmann::json::parse(line);
                  told = true;
                  if (!said.at("passed"))
                    reason = str_cat("not passed: ", std::string(said.at("reason")));
                  return false;
                });
  return told ? reason : str_cat(end.in_time ? end.text() : "it hangs", " while ", step);
}

Traffic::Traffic(std::string op, std::vector<int64_t> answers)
    : op_(std::move(op)), answers_(std::move(answers)) {
  for (size_t caller = 0; caller < 2; ++caller) {
    callers_.emplace_back([this, caller] { call_on(caller); });
  }
}

Traffic::~Traffic() {
  done_ = true;
  for (std::thread& caller : callers_) caller.join();
}

void Traffic::call_on(size_t caller) {
  Dispatcher& dispatcher = Dispatcher::global();
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  while (!done_) {
    try {
      const int64_t answer = dispatcher.call<int64_t, const Tensor&>(dispatcher.get(op_), x);
      if (std::find(answers_.begin(), answers_.end(), answer) == answers_.end()) ++wrong_;
    } catch (const Error&) {
      ++failed_;
    }
    ++calls_[caller];
    std::this_thread::yield();
  }
}

std::string Traffic::check() {
  for (auto& calls : calls_) {
    // One may be under way; the one after it has begun later than now.
    for (const uint64_t enough = calls + 2; calls < enough;) std::this_thread::yield();
  }
  if (wrong_ == 0 && failed_ == 0) return {};
  return str_cat(op_, ": ", wrong_.load(), " wrong answers, ", failed_.load(), " failed calls");
}

plugin::SlotInfo slot_of(std::string_view name) {
  for (plugin::SlotInfo& slot : Host::global().list()) {
    if (slot.name == name) return std::move(slot);
  }
  return {};
}

GenerationInfo generation(uint64_t number) {
  for (const plugin::SlotInfo& slot : Host::global().list()) {
    for (const GenerationInfo& one : slot.generations) {
      if (one.number == number) return one;
    }
  }
  return {};
}

GenerationInfo await_state(uint64_t number, State state) {
  for (int i = 0; i < 4000 && generation(number).state != state; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return generation(number);
}

std::vector<std::string> mappings(std::string_view folder) {
  std::vector<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(folder) != std::string::npos) found.push_back(line);
  }
  return found;
}

}  // namespace opyard::zoo
