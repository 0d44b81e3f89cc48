#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "opyard/plugin/file_store.h"
#include "opyard/plugin/lint.h"
#include "opyard/plugin/threads.h"
#include "opyard_plugin.h"

namespace opyard::plugin {

// The code of one generation in this process. map and unmap run the plugin's constructors and
// destructors and the loader, so they belong to the control thread; the rest any thread, also
// meanwhile.
class Image {
 public:
  // Maps the copy with RTLD_NOW | RTLD_LOCAL and finds its entry. Libraries with thread pools that
  // came along are kept for ever at once: their threads run in them. Raises FAILED_PRECONDITION
  // with the loader's words, or when a library of its own was taken from elsewhere, say from an
  // older generation with a library of that name; nothing stays mapped then that can leave.
  static std::unique_ptr<Image> map(const StoredFile& file, const LintReport& report);
  // The same in two steps, for those who see to what check() refuses: the image is mapped then.
  static std::unique_ptr<Image> open(const StoredFile& file, const LintReport& report);
  void check();
  Image(const Image&) = delete;
  // Does not unmap: whoever lets go of an image without unmap leaves it where it is.
  ~Image();

  const StoredFile& file() const noexcept { return file_; }
  // Not to be called after unmap.
  opyard_plugin_entry_fn entry() const noexcept { return entry_; }
  // Libraries that it uses and that stay: the known ones, those that are marked so, and after unmap
  // those that it brought and that are still there. Names as they are needed.
  std::vector<std::string> pinned_dependencies() const;
  // Is it code or data of the plugin or of a library that it brought along? False once it is gone.
  bool contains(const void* place) const noexcept;
  // Threads that were started in it or with an object of it, and live: see thread_starts for what
  // that does not show.
  std::vector<ThreadInside> threads_inside() const;

  // Places of the process that would call its code later, one sentence each: see hooks_into.
  std::vector<std::string> hooks_inside() const;

  // Closes it and looks whether it is gone: neither the loader nor the kernel may know a mapping of
  // its folder any more. Empty when that is proved, else the cause, for people. It may be called
  // again: what only waited for threads may then go. While one of its threads lives, or the process
  // would call its code later, nothing is closed.
  std::optional<std::string> unmap();

 private:
  Image(StoredFile file, const LintReport& report);
  void open_file();
  void find_private_libraries();
  void pin_dependencies();
  void note_pinned(const std::string& name);
  void note_left_behind();
  std::string why_still_mapped() const;
  bool is_mapped() const;

  const StoredFile file_;
  const std::vector<std::string> pins_;
  void* handle_ = nullptr;  // null once it was closed
  opyard_plugin_entry_fn entry_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<std::string> pinned_;   // guarded by mutex_
  std::vector<std::string> arrived_;  // paths of the libraries that came with it, its own not
  std::vector<ThreadKey> earlier_;    // threads that ran before it was mapped
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges_;  // from open on as they are
  std::atomic<bool> gone_{false};
};

}  // namespace opyard::plugin
