#include "opyard/plugin/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "opyard/base/check.h"

namespace opyard::plugin {
namespace {

constexpr size_t kLongestName = 200;

bool prints(char c) { return c >= 0x20 && c < 0x7f; }

std::string mode_text(mode_t mode) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3) {
    text.push_back(static_cast<char>('0' + ((mode >> shift) & 7)));
  }
  return text;
}

void check_owner_of(int descriptor, std::string_view what, const std::string& path) {
  struct stat facts {};
  OPYARD_CHECK(descriptor >= 0 && fstat(descriptor, &facts) == 0, kPermissionDenied, what, " of '",
               path, "' cannot be looked at, so nobody knows whose it is");
  OPYARD_CHECK(facts.st_uid == 0 || facts.st_uid == geteuid(), kPermissionDenied, what, " of '",
               path, "' belongs to the user ", facts.st_uid,
               "; plugins are taken from root and from the user ", geteuid(), " only");
  OPYARD_CHECK((facts.st_mode & (S_IWGRP | S_IWOTH)) == 0, kPermissionDenied, what, " of '", path,
               "' may be written to by others (mode ", mode_text(facts.st_mode & 07777),
               "); take that right away with 'chmod go-w'");
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string result(text.substr(0, kMost));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return !prints(c); }, '?');
  if (text.size() > kMost) result += "…";
  return result;
}

SourceFile::SourceFile(const std::string& path) : path_(path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  name_ = path.substr(slash == std::string::npos ? 0 : slash + 1);
  OPYARD_CHECK(
      path.find('\0') == std::string::npos && !name_.empty() && name_ != "." && name_ != ".." &&
          name_.size() <= kLongestName && std::all_of(name_.begin(), name_.end(), prints),
      kFailedPrecondition, "'", shown(path), "' is no name of a plugin file; wanted are up to ",
      kLongestName, " printable characters");
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Without O_NONBLOCK a fifo would wait for its writer.
  const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  file_ = folder_ >= 0 ? openat(folder_, name_.c_str(), flags) : open(path.c_str(), flags);
  const int reason = errno;
  struct stat facts {};
  try {
    OPYARD_CHECK(file_ >= 0 || reason != ELOOP, kFailedPrecondition, "'", path,
                 "' is a symbolic link; name the file that it points to");
    OPYARD_CHECK(file_ >= 0 || (reason != EMFILE && reason != ENFILE && reason != ENOMEM),
                 kResourceExhausted, "the plugin file '", path,
                 "' cannot be opened now: ", std::strerror(reason));
    OPYARD_CHECK(file_ >= 0 || reason != EACCES, kPermissionDenied, "the plugin file '", path,
                 "' may not be read: ", std::strerror(reason));
    OPYARD_CHECK(file_ >= 0, kNotFound, "there is no readable plugin file '", path,
                 "': ", std::strerror(reason));
    OPYARD_CHECK(fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode), kFailedPrecondition, "'",
                 path, "' is no regular file");
    size_ = static_cast<uint64_t>(facts.st_size);
    OPYARD_CHECK(size_ > 0, kFailedPrecondition, "'", path, "' is empty");
    OPYARD_CHECK(size_ <= kLargestFile, kFailedPrecondition, "'", path, "' has ", size_,
                 " bytes; a plugin has at most ", kLargestFile);
  } catch (...) {
    if (file_ >= 0) close(file_);
    if (folder_ >= 0) close(folder_);
    throw;
  }
}

SourceFile SourceFile::follow(const std::string& path) {
  constexpr int kMostLinks = 8;
  std::string at = path;
  std::vector<std::string> folders;
  for (int hops = 0;; ++hops) {
    std::error_code error;
    const std::filesystem::path link(at);
    if (!std::filesystem::is_symlink(link, error)) break;
    OPYARD_CHECK(hops < kMostLinks, kFailedPrecondition, "'", path, "' leads over more than ",
                 kMostLinks, " symbolic links");
    const std::filesystem::path target = std::filesystem::read_symlink(link, error);
    OPYARD_CHECK(!error, kNotFound, "the symbolic link '", at,
                 "' cannot be read: ", error.message());
    folders.push_back(link.has_parent_path() ? link.parent_path().string() : ".");
    at = (std::filesystem::path(folders.back()) / target).string();
  }
  SourceFile file(at);
  for (const std::string& folder : folders) {
    file.link_folders_.push_back(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  return file;
}

SourceFile::SourceFile(SourceFile&& other) noexcept
    : path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      folder_(std::exchange(other.folder_, -1)),
      link_folders_(std::exchange(other.link_folders_, {})),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      owner_is_checked_(other.owner_is_checked_) {}

SourceFile::~SourceFile() {
  if (file_ >= 0) close(file_);
  if (folder_ >= 0) close(folder_);
  for (const int folder : link_folders_) {
    if (folder >= 0) close(folder);
  }
}

void SourceFile::check_owner() const {
  check_owner_of(file_, "the file", path_);
  check_owner_of(folder_, "the folder", path_);
  for (const int folder : link_folders_) check_owner_of(folder, "the folder of a link", path_);
  owner_is_checked_ = true;
}

void check_owner(const std::string& path) { SourceFile(path).check_owner(); }

}  // namespace opyard::plugin
