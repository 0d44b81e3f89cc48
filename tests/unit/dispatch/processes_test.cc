// What needs a process of its own: how it ends while calls, registrations and the reclaimer are
// under way, what the child of a fork may do, signals, and a kernel that refuses membarrier.

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard {
namespace {

using enum DispatchKey;

#if defined(__SANITIZE_THREAD__) || defined(OPYARD_EPOCH_SEQ_CST)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

int64_t one(const Tensor&) { return 1; }
void sleep_for_ever(const Kernel&, Keys, const IValue*, uint32_t, IValue*, uint32_t) {
  for (;;) pause();
}

Registration define() {
  return Dispatcher::global().register_block(BlockKind::kFragment, "exit", "", [](Library& m) {
    m.def("f(Tensor x) -> int").impl("f", CPU, OPYARD_FN(one));
    m.def("slow(Tensor x) -> int").impl("slow", CPU, BoxedKernel{&sleep_for_ever});
  });
}

int64_t call() {
  Dispatcher& all = Dispatcher::global();
  return all.call<int64_t, const Tensor&>(all.get("exit::f"),
                                          make_tensor({1}, ScalarType::kFloat32));
}

// Errors are expected once the operator has gone.
void call_for_ever() {
  for (;;) {
    try {
      call();
    } catch (const Error&) {
    }
  }
}

void block_in_a_kernel() {
  const OperatorHandle op = Dispatcher::global().get("exit::slow");
  Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
  Dispatcher::global().call_boxed(op, stack);
}

void detach(void (*work)()) { std::thread(work).detach(); }
void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Runs `work` in a fresh process of this program; it must end by itself, with status 0.
struct ExitDeathTest : ::testing::Test {
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
#define EXPECT_GOOD_END(...) \
  EXPECT_EXIT(               \
      {                      \
        alarm(60);           \
        __VA_ARGS__;         \
        std::exit(0);        \
      },                     \
      ::testing::ExitedWithCode(0), "")

TEST_F(ExitDeathTest, WhileAThreadIsBlockedInAKernel) {
  EXPECT_GOOD_END({
    static Registration all = define();
    detach(block_in_a_kernel);
    while (epoch::pinned_threads().empty()) pause_ms(1);
  });
}

TEST_F(ExitDeathTest, WhileThreadsGoOnCalling) {
  EXPECT_GOOD_END({
    static Registration all = define();  // removed by exit(), under the calls
    for (int i = 0; i < 3; ++i) detach(call_for_ever);
    pause_ms(30);
  });
}

TEST_F(ExitDeathTest, RegistrationsAndHandlesMayDieLast) {
  EXPECT_GOOD_END({
    static Registration all = define();
    static ListenerRegistration listening = Dispatcher::global().add_listener({});
    static KernelHandle handle =
        Dispatcher::global().kernel(Dispatcher::global().get("exit::f"), CPU);
    static Registration of_a_dead_dispatcher;
    static Observation watching = trace_calls([](std::string_view) {});
    Dispatcher own;
    of_a_dead_dispatcher = own.register_block(BlockKind::kFragment, "exit", "",
                                              [](Library& m) { m.def("g(Tensor x) -> int"); });
    call();
  });
}

TEST_F(ExitDeathTest, WhileTheReclaimerIsFreeing) {
  EXPECT_GOOD_END({
    static std::atomic<bool> freeing{false};
    for (int i = 0; i < 5; ++i) {
      epoch::retire(nullptr, [](void*) {
        freeing = true;
        pause_ms(50);
      });
    }
    while (!freeing) pause_ms(1);
  });
}

TEST_F(ExitDeathTest, WhileOthersRegisterAndSynchronize) {
  EXPECT_GOOD_END({
    detach([] {
      for (;;) define();
    });
    detach([] {
      for (;;) epoch::synchronize();
    });
    pause_ms(30);
  });
}

// A host that blocks a signal in its own threads gets it when it asks; no thread of ours takes it.
TEST_F(ExitDeathTest, SignalsAreTheHosts) {
  EXPECT_GOOD_END({
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    define();  // the reclaimer runs
    kill(getpid(), SIGTERM);
    int got = 0;
    sigwait(&set, &got);
    if (got != SIGTERM) std::abort();
  });
}

void register_another(std::string_view name_space) {
  Dispatcher& all = Dispatcher::global();
  const auto block = all.register_block(BlockKind::kFragment, name_space, "", [](Library& m) {
    m.def("g(Tensor x) -> int").impl("g", CPU, OPYARD_FN(one));
  });
  const auto op = all.get(str_cat(name_space, "::g"));
  all.call<int64_t, const Tensor&>(op, make_tensor({1}, ScalarType::kFloat32));
}

// The child of a fork may call, register and wait, whatever the parent's threads were at: they are
// not there any more, and hold nothing back.
void go_on_in_child() {
  alarm(60);
  call();
  epoch::synchronize();
  for (int i = 0; i < 10; ++i) register_another("child");
  const Observation watching = trace_calls([](std::string_view) {});
  call();
  epoch::synchronize();
  if (epoch::retired_bytes() != 0 || !epoch::pinned_threads().empty()) std::abort();
}

int run_child_of_fork(void (*work)()) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(ExitDeathTest, TheChildOfAForkGoesOn) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
  EXPECT_GOOD_END({
    static Registration all = define();
    detach(block_in_a_kernel);
    while (epoch::pinned_threads().empty()) pause_ms(1);
    detach([] {
      for (;;) {
        try {
          register_another("parent");
        } catch (const Error&) {  // past the bound; the mutex is taken as often
        }
      }
    });
    for (int i = 0; i < 20; ++i) {
      pause_ms(i % 3);
      if (run_child_of_fork(go_on_in_child) != 0) std::abort();
    }
  });
}

// From now on, and in programs that this process becomes, the kernel refuses membarrier(2), as the
// filter of a container may.
bool refuse_membarrier() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool readers_fence() { return epoch_domain.attention.load() & kAttentionFenced; }

TEST(MembarrierRefused, ReadersFenceAndTheTortureGoesOn) {
  if (std::getenv("OPYARD_TEST_REFUSED")) {
    EXPECT_TRUE(readers_fence());
    return;  // this is the program below; the torture test comes next
  }
  EXPECT_EQ(readers_fence(), kThreadSanitizer);
  constexpr int kNoFilter = 77;
  const int status = run_child_of_fork([] {
    if (!refuse_membarrier()) std::_Exit(kNoFilter);
    setenv("OPYARD_TEST_REFUSED", "1", 1);
    execl("/proc/self/exe", "refused", "--gtest_filter=MembarrierRefused.*:Torture.*:Vanishing*",
          static_cast<char*>(nullptr));
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) {
    GTEST_SKIP() << "this machine takes no seccomp filter";
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace opyard
