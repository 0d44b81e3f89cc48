// The torture through a daemon: clients call over gRPC while administrators change plugins; two of
// them at once; clients are killed; the daemon is told to leave in a storm of swaps. See README.md.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "opyard/base/check.h"
#include "tests/plugins/torture/daemon_process.h"
#include "tests/plugins/torture/footprint.h"
#include "tests/plugins/torture/remote_admin.h"

namespace opyard::torture {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
constexpr size_t kCallers = 3;
constexpr uint64_t kThreadsOfGrpc = 4;  // its pollers come and go

struct Options {
  uint64_t seconds = 60;
  uint64_t seed = std::random_device()();
  std::string bin;      // with opyardd
  std::string plugins;  // with the torture plugins
  std::string client;   // not empty: calls at this address until it is killed
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const char* value = arguments[i + 1];
    if (name == "--seconds") {
      options.seconds = std::strtoull(value, nullptr, 10);
    } else if (name == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--plugins") {
      options.plugins = value;
    } else if (name == "--bin") {
      options.bin = value;
    } else if (name == "--client") {
      options.client = value;
    } else {
      raise(Code::kInvalidArgument, "unknown option " + name);
    }
  }
  OPYARD_CHECK(count % 2 == 1 && (!options.client.empty() || !options.bin.empty()),
               kInvalidArgument,
               "usage: torture_remote --bin FOLDER --plugins FOLDER [--seconds N] [--seed N]");
  return options;
}

class RemoteTorture {
 public:
  RemoteTorture(const Options& options, std::string folder, std::string program);
  ~RemoteTorture();
  bool run();

 private:
  std::vector<std::string> daemon_command() const;
  std::unique_ptr<RemoteAdmin> admin(const std::string& slot, History* history, RemoteFiles& files);
  void await_daemon();
  void start_threads();
  void watch(uint64_t seed);
  void change_each(Clock::duration time);
  Footprint be_quiet();
  bool all_ended(std::string* who);
  void check_nothing_in_flight();
  void two_admins(Clock::duration time);
  void kill_clients();
  void leave_in_a_storm();
  void report(const Footprint& before, const Footprint& after, uint64_t changes) const;

  const Options options_;
  const std::string folder_;
  const std::string program_;
  const std::string address_;
  RemoteState state_;
  std::mt19937_64 random_;
  std::unique_ptr<RemoteFiles> files_[3];
  std::unique_ptr<Process> daemon_;
  std::unique_ptr<RemoteAdmin> admins_[3];  // torture_a, torture_b, cpu
  std::vector<std::unique_ptr<RemoteCaller>> callers_;
  std::vector<std::thread> threads_;
  uint64_t samples_ = 0;
  client::CallTotals last_;
};

RemoteTorture::RemoteTorture(const Options& options, std::string folder, std::string program)
    : options_(options),
      folder_(std::move(folder)),
      program_(std::move(program)),
      address_("unix:" + folder_ + "/s"),
      state_(options.seed),
      random_(options.seed) {
  const std::string plugins = folder_ + "/plugins";
  fs::create_directory(plugins);
  const std::string cpu = "/libopyard_plugin_cpu.so";
  const std::string built = options.bin + "/../lib/opyard/plugins" + cpu;
  fs::copy_file(built, plugins + cpu);
  for (size_t i = 0; i < 2; ++i) {
    files_[i] =
        stamped_files(str_cat(options.plugins, "/libopyard_plugin_", kSlots[i], ".so"), plugins);
  }
  files_[2] = copied_files(built, plugins);
  daemon_ = std::make_unique<Process>(daemon_command(), folder_ + "/log");
  await_daemon();
  admins_[0] = admin(kSlots[0], &state_.histories[0], *files_[0]);
  admins_[1] = admin(kSlots[1], &state_.histories[1], *files_[1]);
  admins_[2] = admin("cpu", nullptr, *files_[2]);
}

RemoteTorture::~RemoteTorture() {
  state_.stop = true;
  state_.gate.open();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::vector<std::string> RemoteTorture::daemon_command() const {
  return {options_.bin + "/opyardd",
          "--listen",
          address_,
          "--plugin-dir",
          folder_ + "/plugins",
          "--plugin-cache",
          folder_ + "/cache",
          "--drain-seconds",
          "20",
          "--log-level",
          "error"};
}

std::unique_ptr<RemoteAdmin> RemoteTorture::admin(const std::string& slot, History* history,
                                                  RemoteFiles& files) {
  return std::make_unique<RemoteAdmin>(state_, address_ + ".admin", slot, history, files,
                                       random_());
}

void RemoteTorture::await_daemon() {
  const auto deadline = Clock::now() + milliseconds(30'000);
  while (true) {
    try {
      static_cast<void>(admin("cpu", nullptr, *files_[2])->list());
      return;
    } catch (const Error&) {
      if (Clock::now() > deadline || daemon_->has_left()) throw;
      std::this_thread::sleep_for(milliseconds(20));
    }
  }
}

void RemoteTorture::start_threads() {
  for (size_t i = 0; i < kCallers; ++i) {
    callers_.push_back(std::make_unique<RemoteCaller>(state_, address_, random_()));
    threads_.emplace_back([this, &caller = *callers_.back()] {
      caller.run();
      state_.gate.leave();
    });
  }
  threads_.emplace_back([this, seed = random_()] { watch(seed); });
}

// The conservation rule, as often as the daemon answers.
void RemoteTorture::watch(uint64_t seed) {
  try {
    RemoteAdmin looker(state_, address_ + ".admin", "cpu", nullptr, *files_[2], seed);
    while (!state_.stop) {
      const client::CallTotals now = looker.list().calls;
      const uint64_t ended = now.completed + now.failed + now.cancelled;
      if (now.accepted != ended + now.in_flight || now.accepted < last_.accepted ||
          now.completed < last_.completed || now.failed < last_.failed) {
        state_.failures.add(str_cat("conservation: ", now.accepted, " accepted, ", now.completed,
                                    " completed, ", now.failed, " failed, ", now.cancelled,
                                    " cancelled, ", now.in_flight, " in flight"));
      }
      last_ = now;
      ++samples_;
    }
  } catch (const Error& error) {
    if (!state_.may_leave) state_.failures.add(str_cat("the watcher broke off: ", error.what()));
  }
}

void RemoteTorture::change_each(Clock::duration time) {
  const auto deadline = Clock::now() + time;
  std::vector<std::thread> changing;
  for (size_t i = 0; i < 3; ++i) {
    changing.emplace_back([this, i, deadline] {
      while (Clock::now() < deadline && !state_.failures.any()) {
        state_.failures.steps[i].fetch_add(1);
        admins_[i]->step(i < 2);
      }
    });
  }
  for (std::thread& thread : changing) thread.join();
}

// Nobody calls, nothing but the CPU plugin is loaded.
Footprint RemoteTorture::be_quiet() {
  state_.gate.close(kCallers);
  for (size_t i = 0; i < 2; ++i) {
    if (state_.histories[i].present().build != 0) admins_[i]->unload();
  }
  const auto deadline = Clock::now() + milliseconds(60'000);
  std::string who;
  while (!all_ended(&who) && Clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  if (!who.empty()) state_.failures.add(who);
  check_nothing_in_flight();
  return footprint_of(daemon_->number());
}

// Closed is proved unmapped; the maps of the daemon say the same.
bool RemoteTorture::all_ended(std::string* who) {
  who->clear();
  for (const client::PluginSlot& slot : admins_[2]->list().slots) {
    for (const client::PluginGeneration& one : slot.generations) {
      if (one.state == "closed" || one.state == "failed" || one.state == "active") continue;
      *who = str_cat("generation ", one.number, " of ", slot.name, " is ", one.state, ": ",
                     one.why_not_unloaded);
    }
  }
  if (!mappings_with("/libopyard_plugin_stamped", daemon_->number()).empty()) {
    *who += " (a build is still mapped)";
  }
  return who->empty();
}

void RemoteTorture::check_nothing_in_flight() {
  const auto deadline = Clock::now() + milliseconds(30'000);
  client::CallTotals calls = admins_[2]->list().calls;
  while (calls.in_flight != 0 && Clock::now() < deadline) calls = admins_[2]->list().calls;
  if (calls.in_flight != 0) {
    state_.failures.add(str_cat(calls.in_flight, " calls neither completed nor failed"));
  }
}

// Two administrators change one slot; whoever is late is told so.
void RemoteTorture::two_admins(Clock::duration time) {
  const auto changes_of = [this] {
    for (const client::PluginSlot& slot : admins_[2]->list().slots) {
      if (slot.name == kSlots[0]) return slot.changes;
    }
    return uint64_t{0};
  };
  const uint64_t before = changes_of();
  std::unique_ptr<RemoteAdmin> rivals[] = {admin(kSlots[0], nullptr, *files_[0]),
                                           admin(kSlots[0], nullptr, *files_[0])};
  const auto deadline = Clock::now() + time;
  std::vector<std::thread> changing;
  for (auto& rival : rivals) {
    changing.emplace_back([this, &rival = *rival, deadline] {
      while (Clock::now() < deadline && !state_.failures.any()) rival.step(true);
    });
  }
  for (std::thread& thread : changing) thread.join();
  const uint64_t told = rivals[0]->changes() + rivals[1]->changes();
  if (changes_of() - before != told) {
    state_.failures.add(str_cat("two administrators made ", told, " changes, the slot counts ",
                                changes_of() - before));
  }
  std::printf("two administrators of one slot: %llu changes\n",
              static_cast<unsigned long long>(told));
}

// Clients that die in the middle leave nothing in flight.
void RemoteTorture::kill_clients() {
  for (int round = 0; round < 3 && !state_.failures.any(); ++round) {
    Process one({program_, "--client", address_, "--seed", std::to_string(random_() % 1000)}, "");
    Process two({program_, "--client", address_, "--seed", std::to_string(random_() % 1000)}, "");
    const uint64_t until = admins_[2]->list().calls.accepted + 400;
    while (admins_[2]->list().calls.accepted < until && !state_.failures.any()) {
      admins_[1]->step(false);
    }
    for (Process* client : {&one, &two}) {
      if (client->has_left()) state_.failures.add("a client left before it was killed");
      client->signal(SIGKILL);
      static_cast<void>(client->wait(10));
    }
  }
}

// The daemon is told to leave while everybody changes and calls.
void RemoteTorture::leave_in_a_storm() {
  std::vector<std::thread> changing;
  std::atomic<bool> stop{false};
  for (const auto& storming : admins_) {
    changing.emplace_back([&stop, &storming = *storming] { storming.storm(stop); });
  }
  std::this_thread::sleep_for(milliseconds(500 + random_() % 1000));
  state_.may_leave = true;
  daemon_->signal(SIGTERM);
  const int status = daemon_->wait(60);
  if (status != 0) {
    state_.failures.add(
        str_cat("told to leave, the daemon left with ", status, " (-1: not at all)"));
  }
  stop = true;
  state_.stop = true;
  for (std::thread& thread : changing) thread.join();
  for (std::thread& thread : threads_) thread.join();
  if (fs::exists(folder_ + "/cache")) {
    for (const auto& left : fs::directory_iterator(folder_ + "/cache")) {
      state_.failures.add("a copy was left behind: " + left.path().string());
    }
  }
}

bool RemoteTorture::run() {
  const Clock::duration time = std::chrono::seconds(options_.seconds);
  for (size_t i = 0; i < 2; ++i) admins_[i]->load();
  start_threads();
  change_each(time * 15 / 100);
  const Footprint before = be_quiet();
  const auto changes = [this] {
    return admins_[0]->changes() + admins_[1]->changes() + admins_[2]->changes();
  };
  const uint64_t warmed_up = changes();
  for (size_t i = 0; i < 2; ++i) admins_[i]->load();
  state_.gate.open();
  change_each(time * 50 / 100);
  const Footprint after = be_quiet();
  const uint64_t made = changes() - warmed_up;
  for (const std::string& grown : growth(before, after, made, kThreadsOfGrpc)) {
    state_.failures.add(grown);
  }
  state_.in_order = false;  // from here on several change one slot
  for (size_t i = 0; i < 2; ++i) admins_[i]->load();
  state_.gate.open();
  if (!state_.failures.any()) two_admins(time * 15 / 100);
  if (!state_.failures.any()) kill_clients();
  state_.gate.close(kCallers);
  check_nothing_in_flight();
  state_.gate.open();
  leave_in_a_storm();
  report(before, after, made);
  return !state_.failures.any();
}

void RemoteTorture::report(const Footprint& before, const Footprint& after,
                           uint64_t changes) const {
  const std::string text = str_cat(
      "calls: ", state_.calls.load(), " by ", kCallers, " clients, ", state_.gone.load(),
      " of an empty slot, ", state_.tensors_kept.load(), " tensors kept; the daemon accepted ",
      last_.accepted, " = ", last_.completed, " completed + ", last_.failed, " failed + ",
      last_.cancelled, " cancelled + ", last_.in_flight, " in flight, looked at ", samples_,
      " times\nresults held against the history: ", state_.judged.load(),
      "\ndaemon before: ", to_string(before), "\nafter ", changes, " changes: ", to_string(after),
      "\n");
  std::fputs(text.c_str(), stdout);
}

int call_until_killed(const Options& options) {
  RemoteState state(options.seed);
  state.in_order = false;
  RemoteCaller(state, options.client, options.seed).run();
  return 1;
}

int run_in_folder(const Options& options, const char* program) {
  std::string folder = fs::temp_directory_path() / "opyard-torture-XXXXXX";
  OPYARD_CHECK(mkdtemp(folder.data()), kFailedPrecondition, "cannot make a folder like ", folder);
  bool sound = false;
  try {
    sound = RemoteTorture(options, folder, program).run();
  } catch (...) {
    std::printf("FAILED: %s\n", current_error().what());
  }
  if (sound) {
    fs::remove_all(folder);
  } else {
    std::printf("the daemon's log is %s/log\n", folder.c_str());
  }
  std::printf("%s, seed %llu\n", sound ? "torture survived" : "torture FAILED",
              static_cast<unsigned long long>(options.seed));
  return sound ? 0 : 1;
}

}  // namespace
}  // namespace opyard::torture

int main(int count, char** arguments) {
  using namespace opyard::torture;
  try {
    const Options options = parse(count, arguments);
    if (!options.client.empty()) return call_until_killed(options);
    std::printf("torture over gRPC: seed %llu, %llu s\n",
                static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(options.seconds));
    std::fflush(stdout);
    return run_in_folder(options, arguments[0]);
  } catch (...) {
    std::fprintf(stderr, "error: %s\n", opyard::current_error().what());
    return 2;
  }
}
