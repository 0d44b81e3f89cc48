// Calls operators of several slots from many threads while their plugins are changed, and holds
// every result against what was active; see README.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/runtime/initialize.h"
#include "tests/plugins/torture/callers.h"
#include "tests/plugins/torture/controller.h"
#include "tests/plugins/torture/footprint.h"
#include "tests/plugins/torture/watcher.h"

namespace opyard::torture {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Options {
  uint64_t seconds = 60;
  uint64_t seed = std::random_device()();
  uint64_t swaps = UINT64_MAX;  // changes; whichever ends first
  uint64_t callers = 4;
  uint64_t spoil = 0;   // the step at which a controller lies, to see that it is noticed
  std::string plugins;  // folder with the torture plugins
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const char* value = arguments[i + 1];
    const uint64_t number = std::strtoull(value, nullptr, 10);
    if (name == "--seconds") {
      options.seconds = number;
    } else if (name == "--seed") {
      options.seed = number;
    } else if (name == "--swaps") {
      options.swaps = number;
    } else if (name == "--callers") {
      options.callers = number;
    } else if (name == "--spoil") {
      options.spoil = number;
    } else if (name == "--plugins") {
      options.plugins = value;
    } else {
      raise(Code::kInvalidArgument, "unknown option " + name);
    }
  }
  OPYARD_CHECK(!options.plugins.empty() && count % 2 == 1 && options.callers > 0, kInvalidArgument,
               "usage: torture --plugins FOLDER [--seconds N] [--swaps N] [--seed N] "
               "[--callers N] [--spoil STEP]");
  return options;
}

// A run: threads that call, and phases in which the slots change, with quiet between them.
class Torture {
 public:
  Torture(const Options& options, const std::string& folder);
  ~Torture();
  bool run();

 private:
  // Changes slots until so many changes came to pass, or the time is over.
  void change_slots(uint64_t changes, Clock::time_point deadline);
  // Nothing is loaded and nobody calls; measures.
  Footprint be_quiet();
  void await_ends();
  void check_all_is_gone();
  void fill_slots();
  uint64_t changes_made() const;
  void report(uint64_t changes, const Footprint& before, const Footprint& after);

  const Options options_;
  const std::string folder_;
  RunState state_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::vector<std::thread> threads_;
};

Torture::Torture(const Options& options, const std::string& folder)
    : options_(options), folder_(folder), state_(options.seed) {
  plugin::HostOptions host;
  host.cache_dir = folder + "/cache";
  host.patience = milliseconds(1'000);
  plugin::Host::global().configure(host);
  std::filesystem::create_directory(folder + "/builds");
  std::mt19937_64 seeds(options.seed);
  for (size_t slot = 0; slot < kNumSlots; ++slot) {
    const std::string file = str_cat(options.plugins, "/libopyard_plugin_", kSlots[slot], ".so");
    controllers_.push_back(
        std::make_unique<Controller>(state_, slot, file, folder + "/builds", seeds()));
    controllers_.back()->lie_at(options.spoil);
  }
  fill_slots();
  for (uint64_t i = 0; i < options.callers; ++i) {
    callers_.push_back(std::make_unique<Caller>(state_, seeds()));
    threads_.emplace_back([this, &caller = *callers_.back()] {
      caller.run();
      state_.gate.leave();
    });
  }
  threads_.emplace_back([this, seed = seeds()] { watch(state_, seed); });
}

Torture::~Torture() {
  state_.stop = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Torture::fill_slots() {
  for (const auto& controller : controllers_) controller->fill();
}

uint64_t Torture::changes_made() const {
  uint64_t made = 0;
  for (const auto& controller : controllers_) made += controller->changes().made();
  return made;
}

void Torture::change_slots(uint64_t changes, Clock::time_point deadline) {
  std::vector<std::thread> changing;
  for (const auto& controller : controllers_) {
    const uint64_t enough = controller->changes().made() + changes / kNumSlots;
    changing.emplace_back([this, &controller = *controller, enough, deadline] {
      while (controller.changes().made() < enough && Clock::now() < deadline &&
             !state_.failures.any()) {
        controller.step();
      }
    });
  }
  for (std::thread& thread : changing) thread.join();
}

Footprint Torture::be_quiet() {
  state_.gate.close(options_.callers);
  for (const auto& controller : controllers_) controller->empty();
  plugin::Host::global().count_hits(false);
  await_ends();
  check_all_is_gone();
  Dispatcher::global().synchronize();
  return measure_footprint();
}

bool has_ended(const plugin::GenerationInfo& generation) {
  return generation.state == plugin::State::kClosed || generation.state == plugin::State::kFailed;
}

// What takes longer than the host's patience is a zombie for a while; a slow machine makes some.
void Torture::await_ends() {
  const auto deadline = Clock::now() + milliseconds(30'000);
  const auto all_ended = [] {
    for (const plugin::SlotInfo& slot : plugin::Host::global().list()) {
      if (!std::all_of(slot.generations.begin(), slot.generations.end(), has_ended)) return false;
    }
    return true;
  };
  while (!all_ended() && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(5));
}

// Every generation was proved unmapped, and the process has nothing of any.
void Torture::check_all_is_gone() {
  for (const plugin::SlotInfo& slot : plugin::Host::global().list()) {
    for (const plugin::GenerationInfo& one : slot.generations) {
      if (has_ended(one)) continue;
      state_.failures.add(str_cat("generation ", one.number, " of ", slot.name, " is ",
                                  to_string(one.state), ": ", one.why_not_unloaded));
    }
  }
  for (const std::string& line : mappings_with(folder_)) {
    state_.failures.add("still mapped: " + line);
  }
  for (const auto& process : std::filesystem::directory_iterator(folder_ + "/cache")) {
    for (const auto& left : std::filesystem::directory_iterator(process)) {
      state_.failures.add("a copy was left behind: " + left.path().string());
    }
  }
}

bool Torture::run() {
  // A part of it fills what is filled once: names, histories, malloc's arenas.
  const auto start = Clock::now();
  const auto deadline = start + std::chrono::seconds(options_.seconds);
  change_slots(options_.swaps, start + std::chrono::seconds(options_.seconds) / 6);
  const Footprint before = be_quiet();
  const uint64_t warmed_up = changes_made();
  fill_slots();
  state_.gate.open();
  change_slots(options_.swaps, deadline);
  const Footprint after = be_quiet();
  const uint64_t changes = changes_made() - warmed_up;
  state_.stop = true;
  state_.gate.open();
  for (std::thread& thread : threads_) thread.join();
  const runtime::CallTotals totals = state_.counts.totals();
  if (totals.in_flight() != 0) {
    state_.failures.add(str_cat(totals.in_flight(), " calls neither completed nor failed"));
  }
  for (const std::string& grown : growth(before, after, changes)) state_.failures.add(grown);
  report(changes, before, after);
  return !state_.failures.any();
}

void Torture::report(uint64_t changes, const Footprint& before, const Footprint& after) {
  const runtime::CallTotals totals = state_.counts.totals();
  std::string text =
      str_cat("calls: ", totals.accepted, " accepted = ", totals.completed, " completed + ",
              totals.failed, " failed (", state_.gone.load(), " found an empty slot) + ",
              totals.cancelled, " cancelled + ", totals.in_flight(), " in flight\n");
  text += str_cat("results held against the history: ", state_.judged.load(),
                  "; nested calls: ", state_.by_kind[3].load(),
                  "; tensors kept: ", state_.tensors_kept.load(), "\n");
  std::vector<uint64_t> publish;
  for (size_t slot = 0; slot < kNumSlots; ++slot) {
    const Changes& made = controllers_[slot]->changes();
    text += str_cat(kSlots[slot], ": ", made.swaps, " swaps, ", made.rollbacks, " rollbacks, ",
                    made.loads, " loads, ", made.unloads,
                    " unloads; refused: ", made.refused_as_meant, " that failed to start, ",
                    made.no_room, " without room, ", made.nothing_warm, " rollbacks to nothing\n");
    publish.insert(publish.end(), made.publish_ns.begin(), made.publish_ns.end());
  }
  std::sort(publish.begin(), publish.end());
  if (!publish.empty()) {
    text += str_cat("publish: median ", publish[publish.size() / 2] / 1000, " us, most ",
                    publish.back() / 1000, " us\n");
  }
  text += str_cat("before: ", to_string(before), "\nafter ", changes,
                  " changes: ", to_string(after), "\n");
  std::fputs(text.c_str(), stdout);
}

int run_in_folder(const Options& options) {
  std::string folder = std::filesystem::temp_directory_path() / "opyard-torture-XXXXXX";
  OPYARD_CHECK(mkdtemp(folder.data()), kFailedPrecondition, "cannot make a folder like ", folder);
  bool sound = false;
  try {
    sound = Torture(options, folder).run();
  } catch (...) {
    std::printf("FAILED: %s\n", current_error().what());
  }
  std::filesystem::remove_all(folder);
  std::printf("%s, seed %llu\n", sound ? "torture survived" : "torture FAILED",
              static_cast<unsigned long long>(options.seed));
  return sound ? 0 : 1;
}

}  // namespace
}  // namespace opyard::torture

int main(int count, char** arguments) {
  try {
    const opyard::torture::Options options = opyard::torture::parse(count, arguments);
    std::printf("torture: seed %llu, %llu s, %llu callers\n",
                static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(options.seconds),
                static_cast<unsigned long long>(options.callers));
    std::fflush(stdout);
    return opyard::torture::run_in_folder(options);
  } catch (...) {
    std::fprintf(stderr, "error: %s\n", opyard::current_error().what());
    return 2;
  }
}
