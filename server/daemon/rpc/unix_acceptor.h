#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "rpc/socket_file.h"

namespace opyard::daemon {

struct AcceptLimits {
  int total = 128;   // connections at once
  int per_uid = 64;  // of one user
};

// Accepts the connections of one Unix socket on a thread of its own, and decides who may come in.
//
// gRPC shows a handler no peer, so the peer's credentials are read here, by the kernel's word
// (SO_PEERCRED), and an accepted descriptor is handed on. Only the daemon's own user and root are
// let in. Nobody tells us when gRPC is done with a connection: a duplicate of each descriptor is
// watched for its hang-up, which is what the limits count by.
class UnixAcceptor {
 public:
  // Gets a non-blocking descriptor that it owns from then on. Called on the acceptor's thread.
  using Handover = std::function<void(int fd)>;

  // Listens at once, accepts from start() on. `option`: see SocketFile.
  UnixAcceptor(std::string path, AcceptLimits limits, Handover handover,
               std::string option = "--listen unix:PATH");
  UnixAcceptor(const UnixAcceptor&) = delete;
  UnixAcceptor& operator=(const UnixAcceptor&) = delete;
  ~UnixAcceptor();

  void start();
  // Closes the socket, removes its file and joins the thread; connections that were handed over
  // live on. Idempotent.
  void stop();

  const std::string& path() const { return path_; }
  int connections() const { return open_.load(std::memory_order_relaxed); }

 private:
  void loop();
  void accept_some();
  bool admit(int fd, uid_t* uid);
  bool watch(int fd, uid_t uid);
  void forget(int watched);

  const std::string path_;
  std::unique_ptr<SocketFile> file_;  // null once stopped
  const AcceptLimits limits_;
  const Handover handover_;
  int epoll_ = -1;
  int wake_ = -1;
  std::atomic<int> open_{0};
  std::thread thread_;
  // Used by the acceptor's thread only.
  std::map<int, uid_t> watched_;
  std::map<uid_t, int> per_uid_;
};

}  // namespace opyard::daemon
