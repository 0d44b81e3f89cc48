// Every animal at three places: lint and probe, which are processes of their own, and a host under
// traffic. Each case runs in a process of its own (CTest starts one for each).
#include <gtest/gtest.h>

#include <thread>

#include "opyard/base/check.h"
#include "opyard/base/epoch.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/probe.h"
#include "opyard/runtime/initialize.h"
#include "server/worker/leftovers.h"
#include "table.h"
#include "visit.h"

namespace opyard::zoo {
namespace {

using plugin::ChangeOptions;
using plugin::GenerationInfo;
using plugin::Host;
using plugin::Verdict;
using std::chrono::milliseconds;

constexpr milliseconds kHangPatience{2000};

class Zoo : public ::testing::TestWithParam<Animal> {};

#define EXPECT_SAYS(text, piece) \
  EXPECT_NE(std::string(text).find(piece), std::string::npos) << "said: " << (text)

TEST_P(Zoo, Lint) {
  const Lint& expected = GetParam().lint;
  const Said said = run_worker({"lint", path_of(GetParam().name)});
  EXPECT_EQ(said.status, expected.fit ? 0 : 1) << said.text;
  EXPECT_SAYS(said.text, expected.says);
  if (expected.fit && expected.says.empty()) {
    EXPECT_EQ(said.text.find("stays "), std::string::npos) << said.text;
    EXPECT_EQ(said.text.find("warning "), std::string::npos) << said.text;
  }
}

// All that a verdict says, each thing under the name of what it means.
std::string said_by(const Verdict& verdict) {
  std::string all;
  if (!verdict.problem.empty()) all += "problem: " + verdict.problem + "\n";
  if (!verdict.left_mapped.empty()) all += "stays: " + verdict.left_mapped + "\n";
  for (const std::string& thing : verdict.leftovers) all += "leaves: " + thing + "\n";
  return all;
}

void expect_life(const Probe& expected, const Verdict& verdict) {
  const auto is = [&](Life life) { return expected.life == life; };
  const std::string said = said_by(verdict);
  EXPECT_EQ(verdict.lived, !is(Life::kFails) && !is(Life::kHangs)) << said;
  EXPECT_EQ(said.empty(), is(Life::kClean)) << said;
  EXPECT_SAYS(said, expected.says);
  EXPECT_EQ(said.find("problem: it was still") != std::string::npos, is(Life::kHangs)) << said;
  EXPECT_EQ(said.find("stays: ") != std::string::npos, is(Life::kStays)) << said;
}

TEST_P(Zoo, Probe) {
  const bool hangs = GetParam().probe.life == Life::kHangs;
  expect_life(GetParam().probe, plugin::probe(OPYARD_WORKER, path_of(GetParam().name),
                                              hangs ? kHangPatience : milliseconds(60'000)));
}

// What a generation is told about, besides its state.
std::string told(const GenerationInfo& info) {
  std::string all = info.why_not_unloaded + "\n";
  for (const std::string& name : info.pinned_dependencies) all += "pinned: " + name + "\n";
  for (const std::string& text : info.warnings) all += "warning: " + text + "\n";
  return all;
}

void expect_call(const Call& expected) {
  Dispatcher& dispatcher = Dispatcher::global();
  if (expected.what == Call::What::kHangs) {
    std::thread([] { call_number("zoo::g", 5); }).detach();
    return;
  }
  if (expected.what == Call::What::kNothing) return;
  const Error error = error_of([&] {
    if (expected.what == Call::What::kTensor) {
      const Tensor x = make_tensor({2}, ScalarType::kFloat32);
      dispatcher.call<Tensor, const Tensor&>(dispatcher.get("zoo::f"), x);
    } else {
      call_number("zoo::g", 5);
    }
  });
  EXPECT_EQ(error.code(), expected.code) << error.message();
  EXPECT_SAYS(error.message(), expected.says);
}

struct ZooHost : Zoo {
  ZooHost() {
    initialize();
    plugin::HostOptions options;
    options.worker = OPYARD_WORKER;
    const bool hangs = GetParam().probe.life == Life::kHangs;
    options.patience = milliseconds(300);
    options.probe_patience = hangs ? kHangPatience : milliseconds(60'000);
    host.configure(options);
    host.start();
    epoch::start();
    change.probe = false;
    change.keep_warm = milliseconds(0);
    change.allow_loss = true;
    neighbour = host.load(path_of("neighbour"), change).new_generation;
    good = host.load(path_of("good_2"), change).new_generation;
  }

  // The animal takes the place of a good one under traffic, is called, and ends.
  void visit(const Animal& animal) {
    const worker::Belongings before = worker::look_around();
    ChangeOptions options = change;
    options.probe = animal.load.probed;
    Traffic beside("neighbour::seven", {7});
    auto own = std::make_unique<Traffic>("zoo::which", std::vector<int64_t>{1, 2});
    EXPECT_EQ(own->check(), "");
    uint64_t number = 0;
    const Error error =
        error_of([&] { number = host.swap("zoo", path_of(animal.name), options).new_generation; });
    EXPECT_EQ(error.code(), animal.load.code) << error.message();
    EXPECT_SAYS(error.message(), animal.load.says);
    EXPECT_EQ(own->check(), "");
    own.reset();
    if (error.code() == Code::kOk) {
      end(animal, number);
    } else {
      expect_as_before(animal, before);
    }
    EXPECT_EQ(beside.check(), "");
    EXPECT_EQ(slot_of("neighbour").active, neighbour);
    EXPECT_EQ(slot_of("neighbour").changes, 1u);
  }

  void expect_as_before(const Animal& animal, const worker::Belongings&) {
    const plugin::SlotInfo slot = slot_of("zoo");
    EXPECT_EQ(slot.active, good);
    EXPECT_EQ(slot.changes, 1u);
    EXPECT_EQ(generation(good).state, State::kActive);
    const GenerationInfo newest = slot.generations.at(0);
    if (newest.number == good) {  // refused before any code of it ran here
      EXPECT_TRUE(mappings(std::string(animal.name) + ".so").empty());
      return;
    }
    EXPECT_EQ(newest.state, animal.end.state == State::kZombie ? State::kZombie : State::kFailed);
    EXPECT_SAYS(told(newest), animal.end.says);
    if (newest.state == State::kFailed) {
      EXPECT_SAYS(newest.last_error, animal.load.says);
      EXPECT_TRUE(mappings(newest.path).empty());
    }
  }

  void end(const Animal& animal, uint64_t number) {
    EXPECT_EQ(await_state(good, State::kClosed).state, State::kClosed);
    expect_call(animal.call);
    if (animal.call.what == Call::What::kHangs) {
      while (!hangs_in("zoo::g")) std::this_thread::yield();
    }
    host.unload("zoo");
    const GenerationInfo info = await_state(number, animal.end.state);
    EXPECT_EQ(to_string(info.state), to_string(animal.end.state)) << told(info);
    EXPECT_SAYS(told(info), animal.end.says);
    EXPECT_EQ(mappings(info.path).empty(), info.state == State::kClosed) << info.path;
    EXPECT_FALSE(Dispatcher::global().find("zoo::which").has_value());
    // The place is free for another, whatever became of this one.
    host.load(path_of("good_2"), change);
    EXPECT_EQ(call_number("zoo::g", 3), 3);
  }

  static bool hangs_in(std::string_view op) {
    for (const epoch::Blame& blame : epoch::pinned_threads()) {
      if (blame.holder && std::string_view(blame.holder).find(op) != std::string_view::npos) {
        return true;
      }
    }
    return false;
  }

  Host& host = Host::global();
  ChangeOptions change;
  uint64_t neighbour = 0;
  uint64_t good = 0;
};

TEST_P(ZooHost, UnderTraffic) { visit(GetParam()); }

class ZooCheck : public ::testing::TestWithParam<Checked> {};

TEST_P(ZooCheck, Says) {
  const Checked& expected = GetParam();
  const std::string reason = run_check(expected.check, expected.animal);
  EXPECT_EQ(reason.empty(), expected.says.empty()) << reason;
  EXPECT_SAYS(reason, expected.says);
}

INSTANTIATE_TEST_SUITE_P(Checks, ZooCheck, ::testing::ValuesIn(checked_animals()),
                         [](const auto& info) {
                           return str_cat(info.param.check, "_of_", info.param.animal);
                         });

std::string name_of(const ::testing::TestParamInfo<Animal>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Animals, Zoo, ::testing::ValuesIn(animals()), name_of);
INSTANTIATE_TEST_SUITE_P(Animals, ZooHost, ::testing::ValuesIn(animals()), name_of);

}  // namespace
}  // namespace opyard::zoo
