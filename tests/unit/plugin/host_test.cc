#include "opyard/plugin/host.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "opyard/dispatch/dispatcher.h"
#include "tests/unit/plugin/errors.h"

namespace {

// Where plugins are held up, and how many wait there.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, bool> closed;
  std::map<std::string, int> waiting;
  std::map<std::string, int32_t> result;
};
Gate gate;

void close_gate(const std::string& where) {
  const std::lock_guard lock(gate.mutex);
  gate.closed[where] = true;
}
void open_gate(const std::string& where) {
  const std::lock_guard lock(gate.mutex);
  gate.closed[where] = false;
  gate.changed.notify_all();
}
void await_waiting(const std::string& where) {
  std::unique_lock lock(gate.mutex);
  gate.changed.wait(lock, [&] { return gate.waiting[where] > 0; });
}

}  // namespace

// What the counted plugins call.
extern "C" __attribute__((visibility("default"))) int32_t counted_wait(const char* where) {
  std::unique_lock lock(gate.mutex);
  ++gate.waiting[where];
  gate.changed.notify_all();
  gate.changed.wait(lock, [&] { return !gate.closed[where]; });
  --gate.waiting[where];
  return gate.result[where];
}

namespace opyard::plugin {
namespace {

using std::chrono::milliseconds;

std::string build(int version) {
  return str_cat(BAD_PLUGIN_DIR "/libcounted_plugin_", version, ".so");
}

int64_t call(const char* op) {
  Dispatcher& dispatcher = Dispatcher::global();
  return dispatcher.call<int64_t, const Tensor&>(dispatcher.get(op),
                                                 make_tensor({1}, ScalarType::kFloat32));
}
int64_t which() { return call("counted::which"); }
void lease(bool take) {
  Dispatcher& dispatcher = Dispatcher::global();
  dispatcher.call<void, bool>(dispatcher.get("counted::lease"), bool{take});
}

bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

struct HostTest : ::testing::Test {
  HostTest() {
    HostOptions options;
    options.patience = milliseconds(200);
    options.probe_patience = milliseconds(200);
    host.configure(options);
    unprobed.probe = false;
  }
  GenerationInfo generation(uint64_t number) const {
    for (const SlotInfo& slot : host.list()) {
      for (const GenerationInfo& one : slot.generations) {
        if (one.number == number) return one;
      }
    }
    ADD_FAILURE() << "there is no generation " << number;
    return {};
  }
  // Waits for a state that comes without our doing.
  GenerationInfo await_state(uint64_t number, State state) const {
    for (int i = 0; i < 2000; ++i) {
      const GenerationInfo info = generation(number);
      if (info.state == state) return info;
      std::this_thread::sleep_for(milliseconds(5));
    }
    const GenerationInfo info = generation(number);
    EXPECT_EQ(to_string(info.state), to_string(state)) << info.why_not_unloaded;
    return info;
  }

  Host& host = Host::global();
  ChangeOptions unprobed;
};

TEST_F(HostTest, WhatIsLoadedIsCalledAndWhatIsUnloadedIsProvedUnmapped) {
  const ChangeReport report = host.load(build(1), unprobed);
  EXPECT_EQ(report.slot, "counted");
  EXPECT_EQ(which(), 1);
  const GenerationInfo info = generation(report.new_generation);
  EXPECT_EQ(info.state, State::kActive);
  EXPECT_EQ(info.kernels.size(), 4u);
  EXPECT_EQ(info.kernels[0].why_boxed, "it is a kernel of the C interface");
  EXPECT_TRUE(is_mapped(info.path));
  const ChangeReport end = host.unload("counted");
  EXPECT_EQ(end.old_state, State::kClosed) << end.note;
  EXPECT_EQ(end.lost.size(), 8u);  // operators, and their kernels
  EXPECT_FALSE(is_mapped(info.path));
  EXPECT_FALSE(Dispatcher::global().find("counted::which").has_value());
}

TEST_F(HostTest, ASwapTakesOverAndTheOldOneStaysWarmForARollback) {
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  const ChangeReport swap = host.swap("counted", build(2), unprobed);
  EXPECT_EQ(swap.old_generation, first);
  EXPECT_EQ(which(), 2);
  EXPECT_EQ(generation(first).state, State::kWarm);
  const ChangeReport back = host.rollback("counted");
  EXPECT_EQ(back.new_generation, first);
  EXPECT_EQ(which(), 1);
  EXPECT_EQ(generation(swap.new_generation).state, State::kWarm);
  host.rollback("counted");
  EXPECT_EQ(which(), 2);
  EXPECT_EQ(host.list().at(0).changes, 4u);
}

TEST_F(HostTest, WhatIsNotKeptWarmEnds) {
  unprobed.keep_warm = milliseconds(0);
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  host.swap("counted", build(2), unprobed);
  await_state(first, State::kClosed);
  const Error error = error_of([&] { host.rollback("counted"); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_NE(error.message().find("no generation that is still warm"), std::string::npos);
  EXPECT_EQ(which(), 2);
}

TEST_F(HostTest, ACallThatIsUnderWayKeepsItsGenerationAndIsNamed) {
  unprobed.keep_warm = milliseconds(0);
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  close_gate("slow");
  std::future<int64_t> under_way =
      std::async(std::launch::async, [] { return call("counted::slow"); });
  await_waiting("slow");
  host.swap("counted", build(2), unprobed);
  EXPECT_EQ(which(), 2);
  const GenerationInfo info = await_state(first, State::kZombie);
  EXPECT_NE(info.why_not_unloaded.find("in counted::slow"), std::string::npos)
      << info.why_not_unloaded;
  ASSERT_EQ(info.pins.size(), 1u);
  EXPECT_NE(info.pins[0].holder.find("counted::slow"), std::string::npos);
  open_gate("slow");
  EXPECT_EQ(under_way.get(), 1);
  await_state(first, State::kClosed);
}

TEST_F(HostTest, ALeaseKeepsItsGenerationAndIsCounted) {
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  lease(true);
  unprobed.keep_warm = milliseconds(0);
  host.swap("counted", build(2), unprobed);
  const GenerationInfo info = await_state(first, State::kZombie);
  EXPECT_EQ(info.leases[static_cast<size_t>(LeaseKind::kEvent)], 1u);
  EXPECT_EQ(info.why_not_unloaded, "leases are held: 1 event");
  host.unload("counted");
  EXPECT_EQ(generation(first).state, State::kZombie);
}

TEST_F(HostTest, WhatTakesSomethingAwayWantsToBeAllowed) {
  host.load(build(1), unprobed);
  const Error error = error_of([&] { host.swap("counted", build(3), unprobed); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  for (const char* part : {"counted::only_early: operator lost", "counted::lease: schema changed",
                           "allow_loss", "allow_schema_change"}) {
    EXPECT_NE(error.message().find(part), std::string::npos) << part << "\n" << error.message();
  }
  EXPECT_EQ(which(), 1);
  EXPECT_EQ(host.list().at(0).refused, 1u);
  unprobed.allow_loss = true;
  unprobed.allow_schema_change = true;
  const ChangeReport report = host.swap("counted", build(3), unprobed);
  EXPECT_EQ(which(), 3);
  EXPECT_EQ(report.lost.size(), 2u);
}

TEST_F(HostTest, AnInitThatHangsHoldsNobodyAndIsEndedWhenItReturns) {
  host.load(build(1), unprobed);
  close_gate("init");
  const Error error = error_of([&] { host.swap("counted", build(2), unprobed); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.message();
  EXPECT_EQ(which(), 1);
  const GenerationInfo hung = host.list().at(0).generations.at(0);
  EXPECT_EQ(hung.state, State::kZombie) << to_string(hung.state);
  open_gate("init");
  await_state(hung.number, State::kFailed);
  EXPECT_FALSE(is_mapped(hung.path));
  host.swap("counted", build(2), unprobed);
  EXPECT_EQ(which(), 2);
}

TEST_F(HostTest, AQuiesceThatHangsIsNamed) {
  unprobed.keep_warm = milliseconds(0);
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  close_gate("quiesce");
  host.swap("counted", build(2), unprobed);
  const GenerationInfo info = await_state(first, State::kZombie);
  EXPECT_EQ(info.why_not_unloaded, "its quiesce has not returned");
  open_gate("quiesce");
  await_state(first, State::kClosed);
}

TEST_F(HostTest, ASlotHoldsSoManyGenerationsAndSaysWhatTheyWaitFor) {
  HostOptions options = host.options();
  options.residents = 2;
  host.configure(options);
  unprobed.keep_warm = milliseconds(0);
  host.load(build(1), unprobed);
  lease(true);
  host.swap("counted", build(2), unprobed);
  const Error error = error_of([&] { host.swap("counted", build(1), unprobed); });
  EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.message();
  EXPECT_NE(error.message().find("leases are held: 1 event"), std::string::npos) << error.message();
  EXPECT_EQ(which(), 2);
}

TEST_F(HostTest, AWarmGenerationMakesRoom) {
  HostOptions options = host.options();
  options.residents = 2;
  host.configure(options);
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  host.swap("counted", build(2), unprobed);
  EXPECT_EQ(generation(first).state, State::kWarm);
  host.swap("counted", build(1), unprobed);
  EXPECT_EQ(which(), 1);
  await_state(first, State::kClosed);
}

// What makes room goes when the change has come to pass, not before.
TEST_F(HostTest, ARefusedChangeLeavesWhatIsWarm) {
  HostOptions options = host.options();
  options.residents = 2;
  host.configure(options);
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  host.swap("counted", build(2), unprobed);
  EXPECT_THROW(host.swap("counted", build(3), unprobed), Error);
  EXPECT_EQ(host.rollback("counted").new_generation, first);
}

TEST_F(HostTest, AStartThatFailsLateIsEndedToo) {
  host.load(build(1), unprobed);
  close_gate("init");
  EXPECT_EQ(error_of([&] { host.swap("counted", build(2), unprobed); }).code(),
            Code::kDeadlineExceeded);
  const uint64_t late = host.list().at(0).generations.at(0).number;
  {
    const std::lock_guard lock(gate.mutex);
    gate.result["init"] = static_cast<int32_t>(Code::kUnavailable);
  }
  open_gate("init");
  await_state(late, State::kFailed);
}

TEST_F(HostTest, ThereAreSoManySlotsAndThoseOfFailedPluginsAreUsedAgain) {
  std::ifstream in(build(1), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  // The note's name, filled up with zeros; the handshake's is another string.
  const size_t name = bytes.find(std::string("counted") + std::string(57, '\0'));
  ASSERT_NE(name, std::string::npos);
  host.load(build(1), unprobed);
  const std::string path = ::testing::TempDir() + "/named.so";
  for (int i = 0; i < 300; ++i) {
    std::string renamed = bytes;
    renamed.replace(name, 7, str_cat("name", 100 + i));
    std::ofstream(path, std::ios::binary) << renamed;
    const Error error = error_of([&] { host.load(path, unprobed); });
    EXPECT_NE(error.message().find("in its handshake"), std::string::npos) << error.message();
  }
  EXPECT_LE(host.list().size(), 256u);
  EXPECT_EQ(which(), 1);
}

TEST_F(HostTest, TheChildOfAForkChangesNothing) {
  host.load(build(1), unprobed);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused =
        error_of([&] { host.unload("counted"); }).code() == Code::kFailedPrecondition &&
        error_of([&] { host.list(); }).code() == Code::kFailedPrecondition;
    _exit(refused ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(host.unload("counted").old_state, State::kClosed);
}

// One is always held, under the one kind or the other.
TEST(Leases, TogetherAreNeverZeroWhileOneIsHeld) {
  Leases leases;
  std::atomic<bool> done{false};
  leases.acquire(LeaseKind::kCallback);
  std::thread holder([&] {
    while (!done) {
      leases.acquire(LeaseKind::kStorage);
      leases.release(LeaseKind::kCallback);
      leases.acquire(LeaseKind::kCallback);
      leases.release(LeaseKind::kStorage);
    }
  });
  size_t zeros = 0;
  for (int i = 0; i < 200000; ++i) zeros += leases.total() == 0;
  done = true;
  holder.join();
  EXPECT_EQ(zeros, 0u);
  EXPECT_EQ(leases.total(), 1u);
}

TEST(Leases, APluginGivesBackNoMoreThanItHas) {
  Leases leases;
  leases.acquire(LeaseKind::kStorage);
  EXPECT_FALSE(leases.release_own(LeaseKind::kStorage));
  EXPECT_EQ(leases.count(LeaseKind::kStorage), 1u);
  leases.acquire_own(LeaseKind::kStorage);
  EXPECT_EQ(leases.count(LeaseKind::kStorage), 2u);
  EXPECT_TRUE(leases.release_own(LeaseKind::kStorage));
  EXPECT_FALSE(leases.release_own(LeaseKind::kStorage));
  leases.release(LeaseKind::kStorage);
  EXPECT_EQ(leases.total(), 0u);
}

TEST_F(HostTest, ALeaseThatWasNotTakenIsNotGivenBack) {
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  lease(false);
  EXPECT_EQ(generation(first).leases[static_cast<size_t>(LeaseKind::kEvent)], 0u);
  EXPECT_EQ(host.unload("counted").old_state, State::kClosed);
}

// Build 1 whose note says so: unload class 3 instead of 1, behind magic, kind and two versions.
TEST_F(HostTest, WhatCanNeverBeUnloadedStays) {
  std::ifstream in(build(1), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const size_t magic = bytes.find("OYRD");
  ASSERT_NE(magic, std::string::npos);
  bytes[magic + 16] = 3;
  const std::string path = ::testing::TempDir() + "/never.so";
  std::ofstream(path, std::ios::binary) << bytes;
  const uint64_t first = host.load(path, unprobed).new_generation;
  EXPECT_EQ(host.unload("counted").old_state, State::kZombie);
  EXPECT_NE(generation(first).why_not_unloaded.find("never be unloaded"), std::string::npos);
  EXPECT_TRUE(is_mapped(generation(first).path));
}

TEST_F(HostTest, AnotherPluginDoesNotTakeThePlace) {
  host.load(build(1), unprobed);
  const Error other =
      error_of([&] { host.swap("counted", BAD_PLUGIN_DIR "/libbad_plugin_larger.so", unprobed); });
  EXPECT_EQ(other.code(), Code::kInvalidArgument) << other.message();
  const Error again = error_of([&] { host.load(build(2), unprobed); });
  EXPECT_EQ(again.code(), Code::kAlreadyExists) << again.message();
  const Error nobody = error_of([&] { host.swap("count", build(2), unprobed); });
  EXPECT_EQ(nobody.code(), Code::kNotFound);
  EXPECT_NE(nobody.message().find("there are: counted"), std::string::npos);
  EXPECT_EQ(which(), 1);
  // Nothing that was copied for them is left.
  const std::filesystem::path copy = host.list().at(0).generations.at(0).path;
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(copy.parent_path().parent_path())) {
    folders += entry.is_directory();
  }
  EXPECT_EQ(folders, 1u);
}

// Build 1's note, with a kernel whose name nobody defines.
TEST_F(HostTest, AKernelThatNobodyDefinesIsToldWithTheNearestName) {
  std::ifstream in(build(1), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string schema = "slow(Tensor x) -> int";
  const size_t at = bytes.find(schema);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 4, "slim");
  const std::string path = ::testing::TempDir() + "/misspelt.so";
  std::ofstream(path, std::ios::binary) << bytes;
  const ChangeReport report = host.load(path, unprobed);
  const std::string wanted = "there is a kernel for 'counted::slow', which nobody defines";
  EXPECT_NE(report.note.find(wanted), std::string::npos) << report.note;
  ASSERT_FALSE(generation(report.new_generation).warnings.empty());
  EXPECT_EQ(generation(report.new_generation).warnings.back().find(wanted), 0u);
}

TEST_F(HostTest, HitsAreCountedWhileSomebodyWantsThat) {
  const uint64_t first = host.load(build(1), unprobed).new_generation;
  which();
  host.count_hits(true);
  for (int i = 0; i < 7; ++i) which();
  host.count_hits(false);
  which();
  EXPECT_EQ(generation(first).hits_boxed, 7u);
  EXPECT_EQ(generation(first).hits_typed, 0u);
}

TEST_F(HostTest, CallersSeeOneGenerationOrTheOtherWhileItIsSwapped) {
  unprobed.keep_warm = milliseconds(0);
  host.load(build(1), unprobed);
  std::atomic<bool> done{false};
  std::atomic<int> calls{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!done) {
        const int64_t version = which();
        if (version != 1 && version != 2) ++wrong;
        ++calls;
      }
    });
  }
  for (int i = 0; i < 50; ++i) host.swap("counted", build(2 - i % 2), unprobed);
  done = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(calls, 0);
  EXPECT_TRUE(host.settle(milliseconds(5000)));
  size_t mapped = 0;
  const SlotInfo slot = host.list().at(0);
  for (const GenerationInfo& one : slot.generations) {
    mapped += one.state != State::kClosed;
  }
  EXPECT_EQ(mapped, 1u);
}

}  // namespace
}  // namespace opyard::plugin
