#include "app/lifecycle.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace opyard::daemon {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  return set;
}

// The next SIGTERM or SIGINT; 0 when none came within the time (null: no limit).
int next_signal(const timespec* limit) {
  const sigset_t set = watched_signals();
  siginfo_t info;
  const int signal = limit != nullptr ? sigtimedwait(&set, &info, limit) : sigwaitinfo(&set, &info);
  if (signal == SIGHUP) log(LogLevel::kInfo, "SIGHUP: nothing to read again");
  return signal == SIGTERM || signal == SIGINT ? signal : 0;
}

}  // namespace

void block_signals() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void run_until_signalled(const std::function<void()>& drain) {
  int first = 0;
  while (first == 0) first = next_signal(nullptr);
  log(LogLevel::kInfo, str_cat(first == SIGTERM ? "SIGTERM" : "SIGINT",
                               ": draining; a second signal leaves at once"));
  std::atomic<bool> done{false};
  std::thread worker([&] {
    drain();
    done.store(true, std::memory_order_release);
  });
  const timespec pause = {0, 20'000'000};
  while (!done.load(std::memory_order_acquire)) {
    const int second = next_signal(&pause);
    if (second == 0) continue;
    log(LogLevel::kWarning, "second signal: leaving at once");
    _exit(128 + second);
  }
  worker.join();
}

}  // namespace opyard::daemon
