#include "opyard/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "opyard/base/check.h"

namespace opyard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongestReport = 8 << 20;

// A descriptor that is closed at the end.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// `to` becomes its descriptor `report`.
pid_t spawn(std::vector<std::string>& words, int to, int report) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, to, report);
  posix_spawn_file_actions_addclosefrom_np(&actions, std::max(report, 2) + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);  // what it starts goes with it
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  OPYARD_CHECK(error == 0, kUnavailable, "the program '", words[0],
               "' cannot be started: ", std::strerror(error));
  return pid;
}

// Cuts what comes into lines.
class Lines {
 public:
  explicit Lines(const std::function<bool(std::string_view)>& on_line) : on_line_(on_line) {}

  // False: no more is wanted.
  bool add(std::string_view text) {
    total_ += text.size();
    rest_ += text;
    size_t at = 0;
    for (size_t end = 0; (end = rest_.find('\n', at)) != std::string::npos; at = end + 1) {
      if (!on_line_(std::string_view(rest_).substr(at, end - at))) return false;
    }
    rest_.erase(0, at);
    return total_ < kLongestReport;
  }
  void close() {
    if (!rest_.empty()) on_line_(rest_);
  }

 private:
  const std::function<bool(std::string_view)>& on_line_;
  std::string rest_;
  size_t total_ = 0;
};

// False when that takes too long.
bool read_lines(int fd, Clock::time_point deadline, Lines* lines) {
  std::array<char, 65536> buffer;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{fd, POLLIN, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      lines->close();
      return true;
    }
    if (!lines->add({buffer.data(), static_cast<size_t>(count)})) return true;
  }
}

// The end of a child, at the latest.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  int end() {
    if (pid_ < 0) return status_;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_;
  int status_ = 0;
};

}  // namespace

std::string ChildEnd::text() const {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return str_cat("it died by SIG", name ? name : "?");
  }
  return str_cat("it left the process with the status ", WEXITSTATUS(status));
}

ChildEnd run_child(std::vector<std::string> words, std::chrono::milliseconds patience,
                   const std::function<bool(std::string_view line)>& on_line, int report) {
  const Clock::time_point deadline = Clock::now() + patience;
  std::array<int, 2> ends{};
  OPYARD_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0, kResourceExhausted,
               "there is no pipe to be had: ", std::strerror(errno));
  const Fd from(ends[0]);
  Fd to(ends[1]);
  Child child(spawn(words, to.get(), report));
  to.reset();
  Lines lines(on_line);
  ChildEnd end;
  end.in_time = read_lines(from.get(), deadline, &lines);
  end.status = child.end();
  return end;
}

}  // namespace opyard
