#include "tests/plugins/torture/controller.h"

#include <filesystem>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard::torture {
namespace {

using std::chrono::milliseconds;
constexpr size_t kFilesKept = 6;

plugin::Host& host() { return plugin::Host::global(); }

}  // namespace

Controller::Controller(RunState& state, size_t slot, const std::string& file,
                       const std::string& folder, uint64_t seed)
    : state_(state), slot_(slot), name_(kSlots[slot]), builds_(file, folder), random_(seed) {}

plugin::ChangeOptions Controller::options() {
  plugin::ChangeOptions options;
  options.probe = false;
  options.keep_warm = milliseconds(chance(50) ? 0 : random_() % 60);
  return options;
}

// Most of them new ones; now and then a file that was there before.
Builds::Build Controller::sound_build() {
  if (!earlier_.empty() && chance(15)) return earlier_[random_() % earlier_.size()];
  const torture_fault kinds[] = {TORTURE_SLOW_INIT, TORTURE_SLOW_END, TORTURE_THREAD};
  const torture_fault kind = chance(25) ? kinds[random_() % 3] : TORTURE_SOUND;
  earlier_.push_back(builds_.make(kind, static_cast<uint32_t>(random_() % 20)));
  if (earlier_.size() > kFilesKept) {
    std::filesystem::remove(earlier_.front().file);
    earlier_.erase(earlier_.begin());
  }
  return earlier_.back();
}

void Controller::fill() { load(sound_build()); }

void Controller::step() {
  state_.failures.steps[slot_].fetch_add(1);
  try {
    take_step();
  } catch (...) {
    state_.failures.add(name_ + ": the controller broke off: " + current_error().message());
  }
}

void Controller::take_step() {
  if (++steps_ == lie_at_) {
    state_.histories[slot_].begin_change();
    state_.histories[slot_].end_change(UINT64_MAX);
  }
  if (slot_ == kLeasingSlot && chance(20)) hold_something();
  if (chance(30) || held_.size() > 2) held_.clear();
  if (active_ == 0) return load(sound_build());
  const uint64_t dice = random_() % 100;
  if (dice < 62) return swap_to(sound_build(), "swap");
  if (dice < 82) return roll_back();
  if (dice < 88) return swap_to_bad(TORTURE_INIT_FAILS);
  if (dice < 94) return swap_to_bad(TORTURE_LATE_FAILURE);
  if (chance(95)) held_.clear();  // else it waits for us, for all of its patience
  unload();
}

void Controller::arrived(const plugin::ChangeReport& report, uint64_t build) {
  if (report.new_generation != 0) build_of_[report.new_generation] = build;
  if (build_of_.size() > 64) build_of_.erase(build_of_.begin());
  active_ = build;
  changes_.publish_ns.push_back(report.publish_ns);
}

// A change that was refused has changed nothing; callers notice if it did.
void Controller::failed(const char* what, const Error& error,
                        std::initializer_list<Code> expected) {
  state_.histories[slot_].end_change(active_);
  for (const Code code : expected) {
    if (error.code() != code) continue;
    if (code == Code::kResourceExhausted) ++changes_.no_room;
    return;
  }
  state_.failures.add(str_cat(name_, ": a ", what, " was refused: ", error.what()));
}

void Controller::swap_to(const Builds::Build& build, const char* what) {
  const plugin::ChangeOptions how = options();
  state_.histories[slot_].begin_change();
  try {
    arrived(host().swap(name_, build.file, how), build.number);
    state_.histories[slot_].end_change(active_);
    ++changes_.swaps;
  } catch (const Error& error) {
    failed(what, error, {Code::kResourceExhausted});
  }
}

void Controller::swap_to_bad(torture_fault fault) {
  const Builds::Build build = builds_.make(fault, 0);
  const plugin::ChangeOptions how = options();
  state_.histories[slot_].begin_change();
  try {
    arrived(host().swap(name_, build.file, how), build.number);
    state_.histories[slot_].end_change(active_);
    state_.failures.add(name_ + ": a build that fails to start was taken");
  } catch (const Error& error) {
    failed("swap to a build that fails", error,
           {Code::kUnavailable, Code::kAlreadyExists, Code::kInvalidArgument,
            Code::kResourceExhausted});
    ++changes_.refused_as_meant;
  }
  std::filesystem::remove(build.file);
}

void Controller::load(const Builds::Build& build) {
  state_.histories[slot_].begin_change();
  try {
    arrived(host().load(build.file, options()), build.number);
    state_.histories[slot_].end_change(active_);
    ++changes_.loads;
  } catch (const Error& error) {
    failed("load", error, {Code::kResourceExhausted});
  }
}

void Controller::unload() {
  state_.histories[slot_].begin_change();
  try {
    arrived(host().unload(name_), 0);
    state_.histories[slot_].end_change(0);
    ++changes_.unloads;
  } catch (const Error& error) {
    failed("unload", error, {});
  }
}

void Controller::roll_back() {
  const plugin::ChangeOptions how = options();
  state_.histories[slot_].begin_change();
  try {
    const plugin::ChangeReport report = host().rollback(name_, how);
    const auto known = build_of_.find(report.new_generation);
    if (known == build_of_.end()) {
      state_.failures.add(str_cat(name_, ": rolled back to generation ", report.new_generation,
                                  ", which was never active"));
    }
    arrived(report, known == build_of_.end() ? active_ : known->second);
    state_.histories[slot_].end_change(active_);
    ++changes_.rollbacks;
  } catch (const Error& error) {
    failed("rollback", error, {Code::kFailedPrecondition});
    ++changes_.nothing_warm;
  }
}

// A result that keeps its generation, until later steps give it up.
void Controller::hold_something() {
  const Dispatcher& dispatcher = Dispatcher::global();
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  const auto op = dispatcher.find(name_ + "::make");
  if (op) held_.push_back(dispatcher.call<Tensor, const Tensor&>(*op, x));
}

void Controller::empty() {
  held_.clear();
  if (active_ != 0) unload();
  for (const Builds::Build& build : earlier_) std::filesystem::remove(build.file);
  earlier_.clear();
}

}  // namespace opyard::torture
