#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/plugin/host.h"

namespace opyard::zoo {

std::string path_of(std::string_view animal);
int64_t call_number(std::string_view op, int64_t n);

// The error that `body` raises; OK and no text when it raises none.
template <typename Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, "");
}

// What a program said and how it ended.
struct Said {
  int status = 0;
  std::string text;
};
Said run_worker(const std::vector<std::string>& words);
// Why a check of the worker's did not pass; empty when it did.
std::string run_check(std::string_view check, std::string_view animal);

// Two threads that call one operator all the time and count what is not as it should be.
class Traffic {
 public:
  // `op` takes a tensor and answers with one of `answers`.
  Traffic(std::string op, std::vector<int64_t> answers);
  ~Traffic();
  Traffic(const Traffic&) = delete;
  // Waits until some calls that began after this have been answered, then says what has been wrong
  // so far; empty: nothing.
  std::string check();

 private:
  void call_on(size_t caller);

  const std::string op_;
  const std::vector<int64_t> answers_;
  std::atomic<bool> done_{false};
  std::atomic<uint64_t> wrong_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> calls_[2] = {};
  std::vector<std::thread> callers_;
};

// The newest generation of a slot, and one by its number. Waits for a state that comes by itself.
plugin::SlotInfo slot_of(std::string_view name);
plugin::GenerationInfo generation(uint64_t number);
plugin::GenerationInfo await_state(uint64_t number, plugin::State state);

// Lines of /proc/self/maps with `folder` in them.
std::vector<std::string> mappings(std::string_view folder);

}  // namespace opyard::zoo
