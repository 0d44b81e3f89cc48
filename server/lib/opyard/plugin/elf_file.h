#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/plugin/source_file.h"

namespace opyard::plugin {

// One entry of the dynamic symbol table. The name is the ElfFile's.
struct ElfSymbol {
  std::string_view name;
  uint8_t binding = 0;     // STB_…
  uint8_t type = 0;        // STT_…
  uint8_t visibility = 0;  // STV_…
  bool defined = false;
  bool absolute = false;  // a number, no place in the file
};

struct ElfNote {
  std::string owner;
  uint32_t type = 0;
  std::string bytes;  // what the note says
};

// What the loader would see in a shared object of this machine's kind; nothing of it has been
// mapped. Offsets, sizes and counts in the file are checked against the file before they are used,
// and what is read is bounded.
class ElfFile {
 public:
  // Raises FAILED_PRECONDITION, with the place, for a file that is none, is one of another machine,
  // is cut off, or contradicts itself. Never reads beyond the file, whatever stands in it.
  explicit ElfFile(const SourceFile& file);
  ElfFile(ElfFile&&) = default;
  ElfFile(const ElfFile&) = delete;  // symbols_ points into texts_

  const std::string& name() const noexcept { return name_; }  // of the file
  bool has_thread_locals() const noexcept { return has_tls_; }
  // Wanted by its PT_GNU_STACK, or by having none.
  bool has_executable_stack() const noexcept { return executable_stack_; }
  bool has_writable_code() const noexcept { return writable_code_; }
  bool has_text_relocations() const noexcept { return text_relocations_; }
  uint64_t flags() const noexcept { return flags_; }      // DF_…
  uint64_t flags_1() const noexcept { return flags_1_; }  // DF_1_…
  const std::string& soname() const noexcept { return soname_; }
  const std::vector<std::string>& needed() const noexcept { return needed_; }
  const std::string& rpath() const noexcept { return rpath_; }
  const std::string& runpath() const noexcept { return runpath_; }
  const std::vector<ElfSymbol>& symbols() const noexcept { return symbols_; }
  const std::vector<ElfNote>& notes() const noexcept { return notes_; }
  const std::string& build_id() const noexcept { return build_id_; }  // hexadecimal; may be empty

 private:
  friend class ElfReader;

  std::string name_;
  bool has_tls_ = false;
  bool executable_stack_ = true;
  bool writable_code_ = false;
  bool text_relocations_ = false;
  uint64_t flags_ = 0;
  uint64_t flags_1_ = 0;
  std::string soname_;
  std::vector<std::string> needed_;
  std::string rpath_;
  std::string runpath_;
  std::vector<char> texts_;  // the dynamic string table
  std::vector<ElfSymbol> symbols_;
  std::vector<ElfNote> notes_;
  std::string build_id_;
};

}  // namespace opyard::plugin
