#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "opyard/plugin/file_store.h"
#include "opyard/plugin/note.h"
#include "opyard/plugin/source_file.h"

namespace opyard::plugin {

// What is known about a file that is fit to be a plugin, before any code of it has run. Texts are
// whole sentences for people.
struct LintReport {
  NoteFacts note;
  std::string build_id;  // hexadecimal; may be empty
  std::vector<std::string> needed;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks;  // neither good nor bad
  // Why it may stay mapped after dlclose; whether it does shows only afterwards.
  std::vector<std::string> pins;
  // Libraries that it needs and that never leave a process again.
  std::vector<std::string> pinned_dependencies;
};

// Reads the file and checks it against the rules for plugins. Raises FAILED_PRECONDITION with the
// reason for one that is refused: no shared object of this machine, without a sound note, nothing
// that this host can serve, without the entry, or with what endangers the process (static
// thread-local storage, text relocations, an executable stack, libraries that the daemon has
// itself). Does not look at owners: see SourceFile::check_owner.
LintReport lint(const SourceFile& file, const HostOffers& host = {});
// Besides these, NOT_FOUND for a file that is not there.
LintReport lint(const std::string& path, const HostOffers& host = {});
// The libraries that it brings along are held to the same, but need no note and no entry.
LintReport lint(const StoredFile& stored, const HostOffers& host = {});

// Is it one of those whose threads must not lose their code: loaded once, kept for ever?
bool is_thread_pool_runtime(std::string_view library) noexcept;
// Is it kept in a process once it is there? Thread pools are among them.
bool is_pinned_library(std::string_view library) noexcept;

}  // namespace opyard::plugin
