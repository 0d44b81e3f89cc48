#pragma once

#include <string>

namespace opyard::daemon {

// A listening Unix socket with its file, mode 0600.
//
// The directory is made with mode 0700 when it is missing. An existing one must belong to this user
// or to root, and must not be writable by others unless it has the sticky bit; a directory that
// another user prepared is refused (PERMISSION_DENIED). A lock file `<path>.lock`, held as long as
// the object lives, decides between two daemons: the second gets ALREADY_EXISTS. A socket file
// without a living owner is replaced; anything else at that path is refused (FAILED_PRECONDITION)
// and never deleted.
class SocketFile {
 public:
  // `option`: what chooses another path, for messages.
  explicit SocketFile(std::string path, std::string option = "--listen unix:PATH");
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  // Closes the socket and removes its file if that is still the one that was made here.
  ~SocketFile();

  // Non-blocking, listening.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  void take_lock();
  void clear_stale_file();
  void bind_and_listen();
  void close_all() noexcept;

  std::string path_;
  std::string option_;
  int fd_ = -1;
  int lock_fd_ = -1;
  unsigned long device_ = 0;  // identity of the socket file
  unsigned long inode_ = 0;
};

}  // namespace opyard::daemon
