#include "tests/plugins/torture/watcher.h"

#include <memory>
#include <optional>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/describe.h"
#include "opyard/plugin/host.h"

namespace opyard::torture {
namespace {

struct Silent : Observer {
  void enter(const CallEvent& event) noexcept override { depth.store(event.depth); }
  std::atomic<uint32_t> depth{0};
};

// What never changes back: more calls have been accepted than ended, and neither goes down.
void check_conservation(RunState& state, runtime::CallTotals* before) {
  const runtime::CallTotals now = state.counts.totals();
  const auto say = [&](const char* what) {
    state.failures.add(str_cat("conservation: ", what, ": ", now.accepted, " accepted, ",
                               now.completed, " completed, ", now.failed, " failed, ",
                               now.cancelled, " cancelled"));
  };
  if (now.ended() > now.accepted) say("more ended than were accepted");
  if (now.accepted < before->accepted || now.completed < before->completed ||
      now.failed < before->failed || now.cancelled < before->cancelled) {
    say("a count went back");
  }
  *before = now;
}

void ask_around(std::mt19937_64& random) {
  plugin::Host& host = plugin::Host::global();
  for (const plugin::SlotInfo& slot : host.list()) {
    if (slot.active == 0 || random() % 4 != 0) continue;
    try {
      static_cast<void>(host.describe(slot.name));
    } catch (const Error& error) {  // unloaded in between
      if (error.code() != Code::kNotFound) throw;
    }
  }
}

}  // namespace

void watch(RunState& state, uint64_t seed) {
  try {
    std::mt19937_64 random(seed);
    runtime::CallTotals before;
    std::optional<Observation> observed;
    for (uint64_t round = 0; !state.stop.load(); ++round) {
      for (int i = 0; i < 50; ++i) check_conservation(state, &before);
      const uint64_t dice = random() % 100;
      if (dice < 10) plugin::Host::global().count_hits(dice % 2 == 0);
      if (dice == 20) observed.emplace(observe_calls(std::make_shared<Silent>()));
      if (dice > 90) observed.reset();
      if (dice < 30) ask_around(random);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    observed.reset();
    plugin::Host::global().count_hits(false);
  } catch (...) {
    state.failures.add("the watcher broke off: " + current_error().message());
  }
}

}  // namespace opyard::torture
