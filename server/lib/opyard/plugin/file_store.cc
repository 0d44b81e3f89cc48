#include "opyard/plugin/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "opyard/base/check.h"
#include "opyard/base/no_destructor.h"
#include "opyard/plugin/elf_file.h"

namespace opyard::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "opyard-plugins-";
constexpr size_t kMostPrivate = 16;

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

[[noreturn]] void raise_system(int reason, std::string_view what, const std::string& path) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EMFILE || reason == ENFILE;
  raise(full                                  ? Code::kResourceExhausted
        : reason == EACCES || reason == EPERM ? Code::kPermissionDenied
                                              : Code::kFailedPrecondition,
        str_cat(what, " '", path, "': ", std::strerror(reason)));
}

void remove_tree(const std::string& path) noexcept {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// When a process was started, in ticks since the machine was; empty when there is none.
std::string start_of(std::string_view process) {
  std::ifstream file(str_cat("/proc/", process, "/stat"));
  std::string text;
  std::getline(file, text);
  // The second field is a name in parentheses, with anything in it; the time is the 22nd.
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 20 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "<uid>-<process>-<start>-<random>" behind the prefix.
bool is_leftover(std::string_view name) {
  std::vector<std::string_view> parts;
  name.remove_prefix(kPrefix.size());
  for (size_t dash = 0; parts.size() < 3 && dash != std::string_view::npos;) {
    dash = name.find('-');
    parts.push_back(name.substr(0, dash));
    name.remove_prefix(std::min(name.size(), parts.back().size() + 1));
  }
  return parts.size() == 3 && std::all_of(parts.begin(), parts.end(), is_number) &&
         parts[0] == std::to_string(geteuid()) && start_of(parts[1]) != parts[2];
}

// A process in another container may have the number of a dead one here: its lock tells.
void sweep(const fs::path& base) noexcept {
  std::error_code error;
  for (auto entry = fs::directory_iterator(base, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.compare(0, kPrefix.size(), kPrefix) != 0 || !is_leftover(name)) continue;
    const Descriptor folder(
        open(entry->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (folder.get() < 0 || fstat(folder.get(), &facts) != 0 || facts.st_uid != geteuid()) continue;
    if (flock(folder.get(), LOCK_EX | LOCK_NB) != 0) continue;
    remove_tree(entry->path().string());
  }
}

// Folders that go when the process ends normally, with the process: a child of fork is another.
struct AtExit {
  std::mutex mutex;
  std::map<std::string, pid_t> folders;
};

AtExit& at_exit() {
  static NoDestructor<AtExit> all;
  return *all;
}

void remove_at_exit() {
  AtExit& all = at_exit();
  const std::lock_guard lock(all.mutex);
  for (const auto& [path, process] : all.folders) {
    if (process == getpid()) remove_tree(path);
  }
}

void register_at_exit(const std::string& folder) {
  static const bool registered = std::atexit(&remove_at_exit) == 0;
  static_cast<void>(registered);
  AtExit& all = at_exit();
  const std::lock_guard lock(all.mutex);
  all.folders.emplace(folder, getpid());
}

// False when it is another process's.
bool withdraw_at_exit(const std::string& folder) {
  AtExit& all = at_exit();
  const std::lock_guard lock(all.mutex);
  const auto found = all.folders.find(folder);
  const bool mine = found != all.folders.end() && found->second == getpid();
  if (found != all.folders.end()) all.folders.erase(found);
  return mine;
}

// The temporary directory belongs to all, its sticky bit protects what is in it.
void check_base(const std::string& base) {
  struct stat facts {};
  if (stat(base.c_str(), &facts) != 0)
    raise_system(errno, "there is no folder for plugins at", base);
  OPYARD_CHECK(S_ISDIR(facts.st_mode), kFailedPrecondition, "'", base,
               "' is no folder; plugins' files are to be copied there");
  const bool protects = (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (facts.st_mode & S_ISVTX);
  OPYARD_CHECK((facts.st_uid == 0 || facts.st_uid == geteuid()) && protects, kPermissionDenied,
               "others could exchange plugins' files in '", base,
               "': it has to belong to root or to the user ", geteuid(),
               ", and to be writable for nobody else or sticky");
  struct statvfs mount {};
  OPYARD_CHECK(statvfs(base.c_str(), &mount) != 0 || !(mount.f_flag & ST_NOEXEC),
               kFailedPrecondition, "'", base,
               "' is mounted 'noexec', so no plugin can be loaded from there; name another folder "
               "for their copies");
}

void write_all(int to, const char* bytes, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t done = write(to, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) raise_system(errno, "cannot write to", path);
    bytes += done;
    size -= static_cast<size_t>(done);
  }
}

struct Copied {
  std::string hash;
  uint64_t bytes = 0;
};

// Copies from the start to the end that the source has now, and takes the hash on the way.
Copied copy_to(const SourceFile& source, const std::string& path) {
  const Descriptor to(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (to.get() < 0) raise_system(errno, "cannot make the file", path);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  OPYARD_CHECK(state, kResourceExhausted, "out of memory while a plugin is copied");
  XXH3_128bits_reset(state.get());
  std::vector<char> room(size_t{1} << 18);
  uint64_t at = 0;
  while (true) {
    const ssize_t got =
        pread(source.descriptor(), room.data(), room.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) raise_system(errno, "cannot read", source.path());
    if (got == 0) break;
    at += static_cast<uint64_t>(got);
    OPYARD_CHECK(at <= kLargestFile, kFailedPrecondition, "'", source.path(),
                 "' grows while it is copied; a plugin has at most ", kLargestFile, " bytes");
    XXH3_128bits_update(state.get(), room.data(), static_cast<size_t>(got));
    write_all(to.get(), room.data(), static_cast<size_t>(got), path);
  }
  // A full disk shows here at the latest. The names need no sync: after a crash they are swept.
  if (fsync(to.get()) != 0 || fchmod(to.get(), 0444) != 0) {
    raise_system(errno, "cannot finish the file", path);
  }
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state.get()));
  Copied copied{{}, at};
  for (const unsigned char byte : digest.digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    copied.hash.push_back(kDigits[byte >> 4]);
    copied.hash.push_back(kDigits[byte & 15]);
  }
  return copied;
}

bool looks_beside_itself(const ElfFile& file) {
  std::string_view rest = file.runpath().empty() ? file.rpath() : file.runpath();
  while (!rest.empty()) {
    std::string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    while (!part.empty() && part.back() == '/') part.remove_suffix(1);
    if (part == "$ORIGIN" || part == "${ORIGIN}") return true;
  }
  return false;
}

// What a copied file needs by name and looks for beside itself. Whether the file is sound is not
// judged here: lint refuses it with the reason.
std::vector<std::string> wanted_beside(const std::string& path) {
  try {
    const ElfFile file{SourceFile(path)};
    if (looks_beside_itself(file)) return file.needed();
  } catch (const Error&) {
    return {};
  }
  return {};
}

// Copies the libraries that the file in `folder` needs from the source's folder, and what they need
// from there.
void copy_private(const SourceFile& source, const std::string& folder, StoredFile& stored) {
  if (source.folder() < 0) return;
  const std::string from = str_cat("/proc/self/fd/", source.folder(), "/");
  std::vector<std::string> open = wanted_beside(folder + "/" + stored.name);
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    const auto& known = stored.private_libraries;
    if (name.find('/') != std::string::npos || name == stored.name ||
        std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    std::error_code ignored;
    // The library's name is often a link to the file with its version.
    const fs::path real = fs::canonical(from + name, ignored);
    if (ignored) continue;
    OPYARD_CHECK(known.size() < kMostPrivate, kFailedPrecondition, "'", source.path(),
                 "' brings more than ", kMostPrivate, " libraries along");
    const SourceFile library(real.string());
    if (source.owner_is_checked()) library.check_owner();
    const Copied copied = copy_to(library, folder + "/" + name);
    stored.bytes += copied.bytes;
    OPYARD_CHECK(stored.bytes <= kLargestFile, kFailedPrecondition, "'", source.path(),
                 "' and the libraries that it brings have more than ", kLargestFile, " bytes");
    stored.private_libraries.push_back(name);
    for (std::string& more : wanted_beside(folder + "/" + name)) open.push_back(std::move(more));
  }
}

}  // namespace

FileStore::FileStore(const std::string& base) {
  std::error_code error;
  const fs::path wanted = base.empty() ? fs::temp_directory_path(error) : fs::path(base);
  OPYARD_CHECK(!error, kFailedPrecondition, "there is no temporary directory: ", error.message());
  if (!base.empty() && mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) {
    raise_system(errno, "cannot make the folder for plugins", base);
  }
  const fs::path real = fs::canonical(wanted, error);
  OPYARD_CHECK(!error, kFailedPrecondition, "there is no folder for plugins at '", wanted.string(),
               "': ", error.message());
  check_base(real.string());
  sweep(real);
  folder_ = str_cat(real.string(), "/", kPrefix, geteuid(), "-", getpid(), "-", start_of("self"),
                    "-XXXXXX");
  if (!mkdtemp(folder_.data())) raise_system(errno, "cannot make a folder in", real.string());
  lock_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) flock(lock_, LOCK_EX | LOCK_NB);
  register_at_exit(folder_);
}

FileStore::~FileStore() {
  if (withdraw_at_exit(folder_)) remove_tree(folder_);
  if (lock_ >= 0) close(lock_);
}

StoredFile FileStore::store(const std::string& path, uint64_t generation) {
  return store(SourceFile(path), generation);
}

StoredFile FileStore::store(const SourceFile& source, uint64_t generation) {
  std::string making = folder_ + "/making-XXXXXX";
  if (!mkdtemp(making.data())) raise_system(errno, "cannot make a folder in", folder_);
  try {
    StoredFile stored;
    stored.name = source.name();
    stored.generation = generation;
    const Copied copied = copy_to(source, making + "/" + stored.name);
    stored.hash = copied.hash;
    stored.bytes = copied.bytes;
    copy_private(source, making, stored);
    stored.folder = str_cat(folder_, "/", stored.hash, "-g", generation);
    stored.path = str_cat(stored.folder, "/", stored.name);
    if (rename(making.c_str(), stored.folder.c_str()) != 0) {
      OPYARD_CHECK(errno != EEXIST && errno != ENOTEMPTY, kAlreadyExists, "the generation ",
                   generation, " of '", source.path(), "' is stored already");
      raise_system(errno, "cannot make the folder", stored.folder);
    }
    return stored;
  } catch (...) {
    remove_tree(making);
    throw;
  }
}

void FileStore::remove(const StoredFile& stored) noexcept {
  // Only what lies in here, whatever the record says.
  if (stored.folder.size() > folder_.size() + 1 && stored.folder.find("/..") == std::string::npos &&
      stored.folder.compare(0, folder_.size() + 1, folder_ + "/") == 0) {
    remove_tree(stored.folder);
  }
}

}  // namespace opyard::plugin
