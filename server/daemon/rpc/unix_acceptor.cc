#include "rpc/unix_acceptor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace opyard::daemon {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

bool add_to_epoll(int epoll, int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

UnixAcceptor::UnixAcceptor(std::string path, AcceptLimits limits, Handover handover,
                           std::string option)
    : path_(std::move(path)),
      file_(std::make_unique<SocketFile>(path_, std::move(option))),
      limits_(limits),
      handover_(std::move(handover)) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const bool ready = epoll_ >= 0 && wake_ >= 0 && add_to_epoll(epoll_, wake_, EPOLLIN) &&
                     add_to_epoll(epoll_, file_->fd(), EPOLLIN);
  if (!ready) {
    const int error = errno;
    if (epoll_ >= 0) close(epoll_);
    if (wake_ >= 0) close(wake_);
    raise(Code::kResourceExhausted, str_cat("cannot watch sockets: ", reason(error)));
  }
}

UnixAcceptor::~UnixAcceptor() {
  stop();
  for (const auto& entry : watched_) close(entry.first);
  close(epoll_);
  close(wake_);
}

void UnixAcceptor::start() {
  thread_ = std::thread([this] { loop(); });
}

void UnixAcceptor::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  // An eventfd refuses a write only when its counter is full, and then it is readable anyway.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  thread_.join();
  // A client that comes now must fail at once, not wait in the queue of a socket that nobody reads.
  file_.reset();
}

void UnixAcceptor::loop() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = epoll_wait(epoll_, events.data(), events.size(), -1);
    if (count < 0 && errno != EINTR) {
      log(LogLevel::kError, str_cat("watching sockets failed: ", reason(errno)));
      return;
    }
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      if (fd == wake_) return;
      if (fd == file_->fd()) {
        accept_some();
      } else {
        forget(fd);
      }
    }
  }
}

void UnixAcceptor::accept_some() {
  // Bounded, so that a crowd at the door cannot keep hang-ups from being counted.
  for (int i = 0; i < 32; ++i) {
    const int fd = accept4(file_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      log(LogLevel::kWarning, str_cat("cannot accept a connection: ", reason(errno)));
      // Out of descriptors: the waiting connection keeps the socket readable, so rest a moment.
      usleep(10000);
      return;
    }
    uid_t uid = 0;
    if (!admit(fd, &uid)) {
      close(fd);
      continue;
    }
    if (!watch(fd, uid)) {
      close(fd);
      continue;
    }
    handover_(fd);
  }
}

bool UnixAcceptor::admit(int fd, uid_t* uid) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    log(LogLevel::kWarning, str_cat("a peer without credentials was refused: ", reason(errno)));
    return false;
  }
  if (peer.uid != geteuid() && peer.uid != 0) {
    log(LogLevel::kWarning,
        str_cat("a connection of user ", peer.uid,
                " was refused: only the daemon's own user and root may connect"));
    return false;
  }
  const auto known = per_uid_.find(peer.uid);
  const int of_user = known == per_uid_.end() ? 0 : known->second;
  if (connections() >= limits_.total || of_user >= limits_.per_uid) {
    log(LogLevel::kWarning,
        str_cat("a connection of user ", peer.uid, " was refused: ", connections(), " of ",
                limits_.total, " are open, ", of_user, " of ", limits_.per_uid, " by this user"));
    return false;
  }
  *uid = peer.uid;
  return true;
}

bool UnixAcceptor::watch(int fd, uid_t uid) {
  const int twin = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (twin < 0 || !add_to_epoll(epoll_, twin, EPOLLRDHUP)) {
    log(LogLevel::kWarning,
        str_cat("cannot watch a connection, so it was refused: ", reason(errno)));
    if (twin >= 0) close(twin);
    return false;
  }
  watched_.emplace(twin, uid);
  ++per_uid_[uid];
  open_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void UnixAcceptor::forget(int watched) {
  const auto found = watched_.find(watched);
  if (found == watched_.end()) return;
  const auto user = per_uid_.find(found->second);
  if (user != per_uid_.end() && --user->second == 0) per_uid_.erase(user);
  watched_.erase(found);
  close(watched);
  open_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace opyard::daemon
