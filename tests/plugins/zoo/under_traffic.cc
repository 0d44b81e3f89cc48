#include "under_traffic.h"

#include <memory>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/base/epoch.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/initialize.h"
#include "server/worker/leftovers.h"

namespace opyard::zoo {
namespace {

using plugin::GenerationInfo;
using std::chrono::milliseconds;

// What a generation is told about, besides its state.
std::string told(const GenerationInfo& info) {
  std::string all = info.why_not_unloaded + "\n";
  for (const std::string& name : info.pinned_dependencies) all += "pinned: " + name + "\n";
  for (const std::string& text : info.warnings) all += "warning: " + text + "\n";
  return all;
}

bool hangs_in(std::string_view op) {
  for (const epoch::Blame& blame : epoch::pinned_threads()) {
    if (blame.holder && std::string_view(blame.holder).find(op) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

void call_by(Call::What what, bool boxed) {
  Dispatcher& dispatcher = Dispatcher::global();
  const Tensor x = make_tensor({2}, ScalarType::kFloat32);
  const bool tensor = what == Call::What::kTensor;
  if (boxed) {
    Stack stack{tensor ? IValue(x) : IValue(5)};
    dispatcher.call_boxed(dispatcher.get(tensor ? "zoo::f" : "zoo::g"), stack);
  } else if (tensor) {
    dispatcher.call<Tensor, const Tensor&>(dispatcher.get("zoo::f"), x);
  } else {
    call_number("zoo::g", 5);
  }
}

// Calls its kernel, typed and boxed. The errors outlive the plugin.
std::vector<Error> call(const Call& expected) {
  std::vector<Error> errors;
  if (expected.what == Call::What::kNothing) return errors;
  if (expected.what == Call::What::kHangs) {
    std::thread([] { call_number("zoo::g", 5); }).detach();
    while (!hangs_in("zoo::g")) std::this_thread::yield();
    return errors;
  }
  for (const bool boxed : {false, true}) {
    errors.push_back(error_of([&] { call_by(expected.what, boxed); }));
  }
  return errors;
}

// Threads and descriptors that are there and were not, those of the host apart.
std::string news_since(const worker::Belongings& before) {
  std::string all;
  for (const std::string& thing : worker::compare(before, worker::look_around()).things) {
    if (!thing.starts_with("the thread opyard-")) all += thing + "\n";
  }
  return all;
}

}  // namespace

UnderTraffic::UnderTraffic(bool will_hang) {
  initialize();
  plugin::HostOptions options;
  options.worker = OPYARD_WORKER;
  options.patience = milliseconds(300);
  options.probe_patience = will_hang ? kHangPatience : milliseconds(60'000);
  host_.configure(options);
  host_.start();
  epoch::start();
  change.probe = false;
  change.keep_warm = milliseconds(0);
  change.allow_loss = true;
  neighbour_ = host_.load(path_of("neighbour"), change).new_generation;
  good_ = host_.load(path_of("good_2"), change).new_generation;
}

void UnderTraffic::visit(const std::string& path, const Load& load, const Call& call,
                         const End& end) {
  plugin::ChangeOptions options = change;
  options.probe = load.probed;
  Traffic beside("neighbour::seven", {7});
  auto own = std::make_unique<Traffic>("zoo::which", std::vector<int64_t>{1, 2});
  EXPECT_EQ(own->check(), "");
  const worker::Belongings before = worker::look_around();
  uint64_t number = 0;
  const Error error = error_of([&] { number = host_.swap("zoo", path, options).new_generation; });
  EXPECT_EQ(error.code(), load.code) << error.message();
  EXPECT_SAYS(error.message(), load.says);
  EXPECT_EQ(own->check(), "");
  if (error.code() != Code::kOk) {
    expect_as_before(path, load, end);
    EXPECT_EQ(news_since(before).empty(), !load.leaves_things) << news_since(before);
  }
  own.reset();
  if (error.code() == Code::kOk) call_and_end(number, call, end);
  EXPECT_EQ(beside.check(), "");
  EXPECT_EQ(slot_of("neighbour").active, neighbour_);
  EXPECT_EQ(slot_of("neighbour").changes, 1u);
}

void UnderTraffic::expect_as_before(const std::string& path, const Load& load, const End& end) {
  const plugin::SlotInfo slot = slot_of("zoo");
  EXPECT_EQ(slot.active, good_);
  EXPECT_EQ(slot.changes, 1u);
  EXPECT_EQ(generation(good_).state, State::kActive);
  const GenerationInfo newest = slot.generations.at(0);
  if (newest.number == good_) {  // refused before any code of it ran here
    EXPECT_TRUE(mappings(path.substr(path.rfind('/'))).empty());
    return;
  }
  EXPECT_EQ(newest.state, end.state == State::kZombie ? State::kZombie : State::kFailed);
  EXPECT_SAYS(told(newest), end.says);
  if (newest.state != State::kFailed) return;
  EXPECT_SAYS(newest.last_error, load.says);
  EXPECT_TRUE(mappings(newest.path).empty());
}

void UnderTraffic::call_and_end(uint64_t number, const Call& expected, const End& end) {
  EXPECT_EQ(await_state(good_, State::kClosed).state, State::kClosed);
  const std::vector<Error> errors = call(expected);
  host_.unload("zoo");
  const GenerationInfo info = await_state(number, end.state);
  EXPECT_EQ(to_string(info.state), to_string(end.state)) << told(info);
  EXPECT_SAYS(told(info), end.says);
  EXPECT_EQ(mappings(info.path).empty(), info.state == State::kClosed) << info.path;
  EXPECT_FALSE(Dispatcher::global().find("zoo::which").has_value());
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), expected.code) << error.message();
    EXPECT_SAYS(error.message(), expected.says);
  }
  // The place is free for another, whatever became of this one.
  host_.load(path_of("good_2"), change);
  EXPECT_EQ(call_number("zoo::g", 3), 3);
}

}  // namespace opyard::zoo
