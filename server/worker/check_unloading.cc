#include <atomic>
#include <thread>

#include "calls.h"
#include "checks.h"
#include "opyard/base/check.h"
#include "ready.h"
#include "report.h"

namespace opyard::worker {
namespace {

constexpr int kThreads = 2;
constexpr int kRounds = 20;
constexpr size_t kShownRaised = 3;
constexpr uint64_t kCallsFirst = 50;

// Calls all kernels in turn as clients do, whatever comes of it.
void call_on(const std::vector<Callee>& kernels, std::atomic<bool>& done,
             std::atomic<uint64_t>& calls) {
  while (!done) {
    for (const Callee& callee : kernels) {
      try {
        const Samples samples(callee.op.schema(), Filling::kSound, callee.device);
        Stack stack = samples.arguments();
        Dispatcher::global().call_boxed(callee.op, stack);
      } catch (...) {  // it has gone, wants other arguments, or does what call_each tells of
      }
      ++calls;
      if (done) return;
    }
  }
}

class Callers {
 public:
  explicit Callers(const std::vector<Callee>& kernels) {
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([&] { call_on(kernels, done_, calls_); });
    }
  }
  ~Callers() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  void await_calls() const {
    while (calls_ < kCallsFirst) std::this_thread::yield();
  }

 private:
  std::atomic<bool> done_{false};
  std::atomic<uint64_t> calls_{0};
  std::vector<std::thread> threads_;
};

// One by one first, so that the operator has a name at which it crashes, or raises what is not an
// error of its caller's.
void call_each(const std::vector<Callee>& kernels, CheckResult* result) {
  for (const Callee& callee : kernels) {
    const Answer answer = call(callee, Filling::kSound);
    if (answer.escaped && result->passed) {
      result->passed = false;
      result->reason = "it " + answer.raised;
    } else if (!answer.raised.empty() && result->remarks.size() < kShownRaised) {
      result->remarks.push_back("it " + answer.raised);
    }
  }
}

}  // namespace

CheckResult check_unloading(const CheckInput& input) {
  plugin::Host& host = get_ready();
  CheckResult result;
  for (int round = 0; round < kRounds; ++round) {
    report_step(str_cat("calling it, in round ", round + 1));
    const std::string slot = host.load(input.path, unprobed()).slot;
    const std::vector<Callee> kernels = callees(host.describe(slot));
    if (kernels.empty()) {
      host.unload(slot);
      return {true, {}, {"it has no kernels that could be called"}};
    }
    if (round == 0) call_each(kernels, &result);
    if (!result.passed) return result;
    const Callers callers(kernels);
    callers.await_calls();
    report_step(str_cat("unloading it under calls, in round ", round + 1));
    const plugin::ChangeReport end = host.unload(slot);
    if (end.old_state != plugin::State::kClosed) {
      return failed(str_cat("it was not unmapped: ", end.note));
    }
    report_progress(static_cast<uint64_t>(round) + 1, kRounds);
  }
  return result;
}

}  // namespace opyard::worker
