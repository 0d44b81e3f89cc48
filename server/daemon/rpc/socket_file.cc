#include "rpc/socket_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "rpc/address.h"

namespace opyard::daemon {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void prepare_directory(const std::string& directory, const std::string& option) {
  if (mkdir(directory.c_str(), 0700) == 0) {
    log(LogLevel::kInfo, str_cat("made the directory ", directory, " (mode 0700) for the socket"));
    return;
  }
  OPYARD_CHECK(errno == EEXIST, kFailedPrecondition, "cannot make the socket's directory ",
               directory, ": ", reason(errno));
  struct stat info = {};
  OPYARD_CHECK(lstat(directory.c_str(), &info) == 0, kFailedPrecondition,
               "cannot look at the socket's directory ", directory, ": ", reason(errno));
  if (S_ISLNK(info.st_mode)) {
    // A link may be followed only when nobody else could have planted it.
    OPYARD_CHECK(info.st_uid == geteuid() || info.st_uid == 0, kPermissionDenied,
                 "the socket's directory ", directory, " is a link made by user ", info.st_uid);
    OPYARD_CHECK(stat(directory.c_str(), &info) == 0, kFailedPrecondition,
                 "cannot look at the socket's directory ", directory, ": ", reason(errno));
  }
  OPYARD_CHECK(S_ISDIR(info.st_mode), kFailedPrecondition, directory,
               " is not a directory; the socket needs one");
  OPYARD_CHECK(info.st_uid == geteuid() || info.st_uid == 0, kPermissionDenied,
               "the socket's directory ", directory, " belongs to user ", info.st_uid,
               ", not to this one (", geteuid(), "); choose another with ", option);
  const bool open_to_others = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  OPYARD_CHECK(!open_to_others || (info.st_mode & S_ISVTX) != 0, kPermissionDenied,
               "others may write to the socket's directory ", directory,
               "; take that right away (chmod go-w) or choose another with ", option);
}

sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

SocketFile::SocketFile(std::string path, std::string option)
    : path_(std::move(path)), option_(std::move(option)) {
  OPYARD_CHECK(!path_.empty() && path_.size() <= kMaxSocketPath, kInvalidArgument,
               "a socket path has 1 to ", kMaxSocketPath, " bytes, this one has ", path_.size());
  prepare_directory(directory_of(path_), option_);
  try {
    take_lock();
    clear_stale_file();
    bind_and_listen();
  } catch (...) {
    close_all();
    throw;
  }
}

SocketFile::~SocketFile() {
  struct stat info = {};
  if (lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
    unlink(path_.c_str());
  }
  close_all();
}

void SocketFile::close_all() noexcept {
  if (fd_ >= 0) close(fd_);
  // The lock file stays: removing it would let two daemons hold locks on two different files.
  if (lock_fd_ >= 0) close(lock_fd_);
  fd_ = lock_fd_ = -1;
}

void SocketFile::take_lock() {
  const std::string lock_path = path_ + ".lock";
  lock_fd_ = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  OPYARD_CHECK(lock_fd_ >= 0, kFailedPrecondition, "cannot open the lock file ", lock_path, ": ",
               reason(errno));
  if (flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) return;
  OPYARD_CHECK(errno == EWOULDBLOCK, kFailedPrecondition, "cannot lock ", lock_path, ": ",
               reason(errno));
  raise(Code::kAlreadyExists, str_cat("a daemon already listens at ", path_,
                                      "; stop it first or choose another ", option_));
}

void SocketFile::clear_stale_file() {
  struct stat info = {};
  if (lstat(path_.c_str(), &info) != 0) {
    OPYARD_CHECK(errno == ENOENT, kFailedPrecondition, "cannot look at ", path_, ": ",
                 reason(errno));
    return;
  }
  OPYARD_CHECK(S_ISSOCK(info.st_mode), kFailedPrecondition, path_,
               " exists and is not a socket; remove it or choose another ", option_);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  OPYARD_CHECK(probe >= 0, kResourceExhausted, "cannot make a socket: ", reason(errno));
  const sockaddr_un address = socket_address(path_);
  const int rc = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = rc == 0 ? 0 : errno;
  close(probe);
  OPYARD_CHECK(error == ECONNREFUSED, kAlreadyExists, "something listens at ", path_,
               " already; stop it first or choose another ", option_);
  OPYARD_CHECK(unlink(path_.c_str()) == 0, kFailedPrecondition, "cannot remove the old socket ",
               path_, ": ", reason(errno));
}

void SocketFile::bind_and_listen() {
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  OPYARD_CHECK(fd_ >= 0, kResourceExhausted, "cannot make a socket: ", reason(errno));
  const sockaddr_un address = socket_address(path_);
  OPYARD_CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
               kFailedPrecondition, "cannot bind ", path_, ": ", reason(errno));
  struct stat info = {};
  // Nobody can connect before listen(), so the mode is right before it matters.
  OPYARD_CHECK(chmod(path_.c_str(), 0600) == 0 && lstat(path_.c_str(), &info) == 0,
               kFailedPrecondition, "cannot set the mode of ", path_, ": ", reason(errno));
  device_ = info.st_dev;
  inode_ = info.st_ino;
  OPYARD_CHECK(listen(fd_, 128) == 0, kFailedPrecondition, "cannot listen at ", path_, ": ",
               reason(errno));
}

}  // namespace opyard::daemon
