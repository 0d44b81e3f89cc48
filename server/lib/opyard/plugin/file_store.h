#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opyard/plugin/source_file.h"

namespace opyard::plugin {

// The copy of a plugin's file that one generation is mapped from.
struct StoredFile {
  std::string path;    // folder + "/" + name
  std::string folder;  // of this generation alone
  std::string hash;    // of the file's bytes: XXH3, 128 bits, as 32 hexadecimal digits
  std::string name;    // as the source is called
  uint64_t bytes = 0;
  uint64_t generation = 0;
  // Names of the libraries beside it: those that it needs from its own folder.
  std::vector<std::string> private_libraries;
};

// Keeps files of plugins under names that no other generation has, so that the loader never takes
// one for another and nobody writes over a mapped file. Everything lies in one folder of this
// process with mode 0700. Any thread.
class FileStore {
 public:
  // `base` is where the process's own folder is made; empty: the temporary directory. It must exist
  // or be creatable, allow programs to be mapped, and others must not be able to exchange what is
  // in it. What dead processes of this user left there is removed. Raises FAILED_PRECONDITION,
  // PERMISSION_DENIED or RESOURCE_EXHAUSTED with the place.
  explicit FileStore(const std::string& base = {});
  FileStore(const FileStore&) = delete;
  // Removes the folder. At a normal end of the process it goes, too; otherwise the next start of
  // one that uses `base` sweeps it.
  ~FileStore();

  // Absolute and without symbolic links.
  const std::string& folder() const noexcept { return folder_; }

  // Copies the file to <folder>/<hash>-g<generation>/<name>, and the libraries that it needs from
  // its own folder (DT_RUNPATH or DT_RPATH $ORIGIN) beside it. The source is read once. Raises what
  // SourceFile does, RESOURCE_EXHAUSTED when the disk is full, ALREADY_EXISTS for a generation that
  // is stored already; nothing stays behind then.
  StoredFile store(const SourceFile& source, uint64_t generation);
  StoredFile store(const std::string& path, uint64_t generation);
  // For a file that is not mapped any more: debuggers want it until then.
  void remove(const StoredFile& stored) noexcept;

 private:
  std::string folder_;
  int lock_ = -1;  // held on the folder as long as this process lives
};

}  // namespace opyard::plugin
