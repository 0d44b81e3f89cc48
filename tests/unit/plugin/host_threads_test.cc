#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/unit/plugin/host_fixture.h"

namespace opyard::plugin {
namespace {

// Lets somebody wait for something that another thread does.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  bool open = false;
  std::thread::id thread;

  void pass() {
    std::unique_lock lock(mutex);
    ++arrived;
    thread = std::this_thread::get_id();
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
  }
  void await(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return arrived >= count; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  static void run(void* gate) { static_cast<Gate*>(gate)->pass(); }
};

struct HostThreads : testing::HostFixture {
  const opyard_threads& threads = extension<opyard_threads>("opyard.threads");

  void await_no_leases() {
    while (leases.total() != 0) std::this_thread::yield();
  }
};

TEST_F(HostThreads, WorkRunsOnAnotherThreadUnderALease) {
  Gate gate;
  ASSERT_EQ(threads.submit(host, &Gate::run, &gate, &status), 0) << status.message;
  EXPECT_EQ(leases.count(LeaseKind::kCallback), 1u);
  gate.await(1);
  EXPECT_NE(gate.thread, std::this_thread::get_id());
  EXPECT_EQ(leases.count(LeaseKind::kCallback), 1u);
  gate.let_go();
  await_no_leases();
}

TEST_F(HostThreads, TasksThatWaitDoNotHoldOthersUpUntilThereAreTooMany) {
  Gate gate;
  int started = 0;
  while (threads.submit(host, &Gate::run, &gate, &status) == 0 && started < 1000) ++started;
  EXPECT_EQ(status.code, Code::kResourceExhausted) << status.message;
  EXPECT_GE(started, 16);
  EXPECT_EQ(leases.count(LeaseKind::kCallback), static_cast<uint64_t>(started));
  gate.await(started);
  gate.let_go();
  await_no_leases();
}

TEST_F(HostThreads, ExceptionsStayOnTheirThread) {
  const auto fail = [](void*) { throw 7; };
  ASSERT_EQ(threads.submit(host, fail, nullptr, &status), 0);
  await_no_leases();
}

TEST_F(HostThreads, AStopIsToldAndEndsNewWork) {
  Gate gate;
  EXPECT_EQ(threads.stop_requested(host), 0);
  table.request_stop();
  EXPECT_EQ(threads.stop_requested(host), 1);
  EXPECT_EQ(threads.submit(host, &Gate::run, &gate, &status),
            static_cast<int32_t>(Code::kFailedPrecondition));
  EXPECT_EQ(leases.total(), 0u);
}

TEST_F(HostThreads, NothingToRunIsRefused) {
  expect_refused(threads.submit(host, nullptr, nullptr, &status), "no function");
  expect_refused(threads.submit(nullptr, &Gate::run, nullptr, &status), "null pointer");
  EXPECT_EQ(threads.stop_requested(nullptr), 0);
  EXPECT_EQ(leases.total(), 0u);
}

TEST_F(HostThreads, SignalsAreNotForItsThreads) {
  struct Seen {
    sigset_t mask;
    Gate gate;
  } seen;
  // With all threads from before at work, a new one has to come.
  Gate others;
  for (int i = 0; i < 8; ++i) threads.submit(host, &Gate::run, &others, &status);
  others.await(8);
  const auto look = [](void* argument) {
    auto& seen = *static_cast<Seen*>(argument);
    pthread_sigmask(SIG_SETMASK, nullptr, &seen.mask);
    seen.gate.pass();
  };
  ASSERT_EQ(threads.submit(host, look, &seen, &status), 0) << status.message;
  seen.gate.await(1);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD, SIGPROF}) {
    EXPECT_EQ(sigismember(&seen.mask, signal), 1) << signal;
  }
  seen.gate.let_go();
  others.let_go();
  await_no_leases();
}

TEST_F(HostThreads, TheChildOfAForkHasThreadsOfItsOwn) {
  Gate gate;  // leaves an idle thread in this process
  gate.let_go();
  ASSERT_EQ(threads.submit(host, &Gate::run, &gate, &status), 0);
  await_no_leases();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // instead of waiting for ever
    Gate own;
    own.let_go();
    if (threads.submit(host, &Gate::run, &own, &status) != 0) _exit(1);
    own.await(1);
    _exit(0);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how)) << "signal " << WTERMSIG(how);
  EXPECT_EQ(WEXITSTATUS(how), 0);
}

}  // namespace
}  // namespace opyard::plugin
