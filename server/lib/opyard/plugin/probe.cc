#include "opyard/plugin/probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "opyard/base/check.h"
#include "opyard/plugin/control_thread.h"

namespace opyard::plugin {
namespace {

namespace fs = std::filesystem;

constexpr int kReportFd = 3;  // the worker's, see server/worker
constexpr size_t kLongestReport = 8 << 20;
constexpr size_t kRemembered = 1024;

void landmark() {}

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

// A clean process: no descriptors of ours but the report's, no blocked signals.
pid_t spawn(const std::string& worker, const std::string& path, int report) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, report, kReportFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kReportFd + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::array<std::string, 3> words = {worker, "probe", path};
  std::array<char*, 4> argv = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, worker.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  OPYARD_CHECK(error == 0, kUnavailable, "the worker '", worker,
               "' cannot be started: ", std::strerror(error));
  return pid;
}

// What the worker writes, until it closes its end; false when that takes too long.
bool read_report(int fd, Clock::time_point deadline, std::string* text) {
  std::array<char, 65536> buffer;
  while (text->size() < kLongestReport) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{fd, POLLIN, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text->append(buffer.data(), static_cast<size_t>(count));
  }
  return false;
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return str_cat("it died by SIG", name ? name : "?");
  }
  return str_cat("it left the process with the status ", WEXITSTATUS(status));
}

// The report is lines "step NAME", then the verdict as JSON.
Verdict judge(const std::string& report, bool in_time, int status,
              std::chrono::milliseconds patience) {
  std::string step = "starting";
  size_t at = 0;
  while (at < report.size()) {
    const size_t end = std::min(report.find('\n', at), report.size());
    const std::string line = report.substr(at, end - at);
    if (line.starts_with("{")) return verdict_from_json(line);
    if (line.starts_with("step ")) step = line.substr(5, 64);
    at = end + 1;
  }
  Verdict verdict;
  verdict.problem = in_time ? str_cat(ending(status), " while ", step)
                            : str_cat("it was still ", step, " after ", patience.count(), " ms");
  return verdict;
}

}  // namespace

std::string find_worker(const HostOptions& options) {
  std::error_code error;
  std::string path = options.worker;
  if (path.empty()) {
    Dl_info info = {};
    if (dladdr(reinterpret_cast<const void*>(&landmark), &info) == 0 || !info.dli_fname) return {};
    const fs::path library = fs::canonical(info.dli_fname, error);
    path = (library.parent_path().parent_path() / "bin/opyard-worker").string();
  }
  return !error && access(path.c_str(), X_OK) == 0 ? path : std::string();
}

Verdict probe(const std::string& worker, const std::string& path,
              std::chrono::milliseconds patience) {
  const Clock::time_point start = Clock::now();
  std::array<int, 2> ends{};
  OPYARD_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0, kResourceExhausted,
               "there is no pipe to be had: ", std::strerror(errno));
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t pid = spawn(worker, path, to.get());
  to.reset();
  std::string report;
  const bool in_time = read_report(from.get(), start + patience, &report);
  // Its verdict is written last, so nothing of worth comes after; a plugin may hang at its exit.
  kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  Verdict verdict = judge(report, in_time, status, patience);
  verdict.ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
  return verdict;
}

Verdict remembered_probe(const std::string& worker, const StoredFile& file,
                         std::chrono::milliseconds patience) {
  static std::mutex mutex;
  static std::map<std::string, Verdict>& known = *new std::map<std::string, Verdict>;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(file.hash); found != known.end()) return found->second;
  }
  const Verdict verdict = probe(worker, file.path, patience);
  const std::lock_guard lock(mutex);
  if (known.size() >= kRemembered) known.clear();
  // What failed may have failed for want of time or memory: it is tried again.
  if (verdict.lived) known[file.hash] = verdict;
  return verdict;
}

std::string to_json(const Verdict& verdict) {
  const nlohmann::json json = {{"lived", verdict.lived},
                               {"problem", verdict.problem},
                               {"left_mapped", verdict.left_mapped},
                               {"leftovers", verdict.leftovers},
                               {"description", to_json(verdict.description)}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Verdict verdict_from_json(std::string_view text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    Verdict verdict;
    verdict.lived = json.at("lived");
    verdict.problem = json.at("problem");
    verdict.left_mapped = json.at("left_mapped");
    verdict.leftovers = json.at("leftovers");
    verdict.description = description_from_json(std::string(json.at("description")));
    return verdict;
  } catch (const nlohmann::json::exception& error) {
    raise(Code::kInvalidArgument, str_cat("this is no verdict of a worker: ", error.what()));
  }
}

}  // namespace opyard::plugin
