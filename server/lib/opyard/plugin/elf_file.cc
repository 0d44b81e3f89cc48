#include "opyard/plugin/elf_file.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "opyard/base/check.h"

namespace opyard::plugin {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "say which machine the plugins of this build are for"
#endif

constexpr uint64_t kMostSegments = 256;
constexpr uint64_t kMostDynamic = 4096;
constexpr uint64_t kMostNoteBytes = uint64_t{1} << 20;
constexpr uint64_t kMostNotes = 1024;
constexpr uint64_t kMostTextBytes = uint64_t{1} << 27;
constexpr uint64_t kMostNameBytes = uint64_t{1} << 29;  // many names may share one long text
constexpr uint64_t kMostSymbols = uint64_t{1} << 20;
constexpr uint64_t kMostNeeded = 512;

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "x86";
    case EM_AARCH64:
      return "AArch64";
    case EM_ARM:
      return "ARM";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "PowerPC 64";
    default:
      return str_cat("number ", machine);
  }
}

std::string hexadecimal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

uint64_t aligned(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

// What the dynamic segment says about tables: addresses as the file would be mapped at 0.
struct Tables {
  std::optional<uint64_t> texts, symbols, hash, gnu_hash;
  uint64_t texts_size = 0;
  uint64_t symbol_size = sizeof(Elf64_Sym);
};

}  // namespace

// Fills an ElfFile from the file; one use.
class ElfReader {
 public:
  ElfReader(const SourceFile& file, ElfFile& out) : file_(file), out_(out) {}

  void read() {
    const Elf64_Ehdr header = read_header();
    read_segments(header);
    for (const Elf64_Phdr& segment : segments_) take_segment(segment);
    OPYARD_CHECK(dynamic_, kFailedPrecondition, refusal("it is linked statically or not at all"));
    read_dynamic();
  }

 private:
  template <typename... Parts>
  std::string refusal(const Parts&... parts) const {
    return str_cat("'", file_.name(), "' is no plugin for this machine: ", parts...);
  }

  // The bytes [offset, offset + size) of the file.
  void read_at(uint64_t offset, void* to, uint64_t size, std::string_view what) const {
    OPYARD_CHECK(offset <= file_.size() && size <= file_.size() - offset, kFailedPrecondition,
                 refusal(what, " would end at byte ", offset, " + ", size, ", but the file has ",
                         file_.size(), " bytes: it is cut off or damaged"));
    auto* place = static_cast<char*>(to);
    while (size > 0) {
      const ssize_t got = pread(file_.descriptor(), place, size, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      OPYARD_CHECK(got > 0, kFailedPrecondition,
                   refusal(what, " cannot be read: ",
                           got == 0 ? "the file has become shorter" : std::strerror(errno)));
      place += got;
      offset += static_cast<uint64_t>(got);
      size -= static_cast<uint64_t>(got);
    }
  }

  template <typename T>
  std::vector<T> array_at(uint64_t offset, uint64_t count, uint64_t most,
                          std::string_view what) const {
    OPYARD_CHECK(count <= most, kFailedPrecondition,
                 refusal(what, " have ", count, " entries; ", most, " are the most"));
    // Before the memory is taken: the file's size bounds it.
    OPYARD_CHECK(offset <= file_.size() && count * sizeof(T) <= file_.size() - offset,
                 kFailedPrecondition,
                 refusal(what, " would end at byte ", offset, " + ", count * sizeof(T),
                         ", but the file has ", file_.size(), " bytes: it is cut off or damaged"));
    std::vector<T> result(count);
    if (count > 0) read_at(offset, result.data(), count * sizeof(T), what);
    return result;
  }

  Elf64_Ehdr read_header() const {
    char magic[EI_NIDENT] = {};
    read_at(0, magic, std::min<uint64_t>(file_.size(), sizeof(magic)), "the header");
    OPYARD_CHECK(std::memcmp(magic, ELFMAG, SELFMAG) == 0, kFailedPrecondition,
                 refusal("it is no ELF file"));
    OPYARD_CHECK(magic[EI_CLASS] == ELFCLASS64 && magic[EI_DATA] == ELFDATA2LSB,
                 kFailedPrecondition,
                 refusal("it is made for 32 bits or for the other byte order"));
    Elf64_Ehdr header{};
    read_at(0, &header, sizeof(header), "the header");
    OPYARD_CHECK(header.e_machine == kMachine, kFailedPrecondition,
                 refusal("it is made for the machine ", machine_name(header.e_machine),
                         "; this host is ", machine_name(kMachine)));
    OPYARD_CHECK(
        header.e_type == ET_DYN, kFailedPrecondition,
        refusal("it is no shared object (ELF type ", header.e_type, "); link it with -shared"));
    OPYARD_CHECK(header.e_version == EV_CURRENT && header.e_phentsize == sizeof(Elf64_Phdr),
                 kFailedPrecondition, refusal("its header is none that this host knows"));
    // The loader does not look there, but a file that was cut off shows it here first.
    if (header.e_shoff != 0) {
      const uint64_t bytes = uint64_t{header.e_shnum} * header.e_shentsize;
      OPYARD_CHECK(header.e_shoff <= file_.size() && bytes <= file_.size() - header.e_shoff,
                   kFailedPrecondition,
                   refusal("its section headers lie behind its end: it is cut off or damaged"));
    }
    return header;
  }

  void read_segments(const Elf64_Ehdr& header) {
    segments_ =
        array_at<Elf64_Phdr>(header.e_phoff, header.e_phnum, kMostSegments, "the program headers");
    uint64_t end = 0;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD) continue;
      OPYARD_CHECK(
          segment.p_filesz <= segment.p_memsz && segment.p_vaddr >= end &&
              segment.p_memsz <= (uint64_t{1} << 46) && segment.p_vaddr <= (uint64_t{1} << 46),
          kFailedPrecondition, refusal("its loaded segments overlap or have impossible sizes"));
      OPYARD_CHECK(
          segment.p_offset <= file_.size() && segment.p_filesz <= file_.size() - segment.p_offset,
          kFailedPrecondition,
          refusal("a loaded segment lies behind its end: it is cut off or damaged"));
      end = segment.p_vaddr + segment.p_memsz;
    }
    OPYARD_CHECK(end > 0, kFailedPrecondition, refusal("it has nothing to load"));
  }

  void take_segment(const Elf64_Phdr& segment) {
    switch (segment.p_type) {
      case PT_LOAD:
        out_.writable_code_ |= (segment.p_flags & PF_W) && (segment.p_flags & PF_X);
        break;
      case PT_DYNAMIC:
        OPYARD_CHECK(!dynamic_, kFailedPrecondition, refusal("it has two dynamic segments"));
        dynamic_ = &segment;
        break;
      case PT_TLS:
        out_.has_tls_ |= segment.p_memsz > 0;
        break;
      case PT_GNU_STACK:
        out_.executable_stack_ = segment.p_flags & PF_X;
        break;
      case PT_NOTE:
        read_notes(segment);
        break;
      default:
        break;
    }
  }

  void read_notes(const Elf64_Phdr& segment) {
    const uint64_t alignment = segment.p_align == 8 ? 8 : 4;
    const auto bytes =
        array_at<char>(segment.p_offset, segment.p_filesz, kMostNoteBytes, "the notes");
    const std::string_view all(bytes.data(), bytes.size());
    uint64_t at = 0;
    while (all.size() - at >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr header{};
      std::memcpy(&header, all.data() + at, sizeof(header));
      const uint64_t owner = at + sizeof(header);
      const uint64_t text = aligned(owner + header.n_namesz, alignment);
      const uint64_t end = text + header.n_descsz;  // of 32-bit sizes: no overflow
      OPYARD_CHECK(end <= all.size(), kFailedPrecondition,
                   refusal("a note is longer than the segment that it stands in"));
      OPYARD_CHECK(++notes_ <= kMostNotes, kFailedPrecondition,
                   refusal("it has more than ", kMostNotes, " notes"));
      // Segments may overlap; a note counts once.
      if (std::find(note_places_.begin(), note_places_.end(), segment.p_offset + at) ==
          note_places_.end()) {
        note_places_.push_back(segment.p_offset + at);
        take_note(all.substr(owner, header.n_namesz), header.n_type,
                  all.substr(text, header.n_descsz));
      }
      at = std::min<uint64_t>(aligned(end, alignment), all.size());
    }
  }

  void take_note(std::string_view owner, uint32_t type, std::string_view text) {
    if (!owner.empty() && owner.back() == '\0') owner.remove_suffix(1);
    if (owner == "GNU" && type == NT_GNU_BUILD_ID && text.size() <= 64) {
      out_.build_id_ = hexadecimal(text);
    }
    out_.notes_.push_back({std::string(owner), type, std::string(text)});
  }

  // Where the byte at an address stands in the file; `size` bytes from there on do, too.
  uint64_t offset_of(uint64_t address, uint64_t size, std::string_view what) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const uint64_t within = address - segment.p_vaddr;
      if (within <= segment.p_filesz && size <= segment.p_filesz - within) {
        return segment.p_offset + within;
      }
    }
    raise(Code::kFailedPrecondition, refusal(what, " (address ", address, ", ", size,
                                             " bytes) lies in no part of the file that is loaded"));
  }

  void read_dynamic() {
    const uint64_t count = dynamic_->p_filesz / sizeof(Elf64_Dyn);
    // The loader goes by the address.
    const uint64_t offset = offset_of(dynamic_->p_vaddr, dynamic_->p_filesz, "the dynamic segment");
    const auto entries = array_at<Elf64_Dyn>(offset, count, kMostDynamic, "the dynamic segment's");
    const Tables tables = take_tables(entries);
    OPYARD_CHECK(tables.texts && tables.symbols && tables.symbol_size == sizeof(Elf64_Sym),
                 kFailedPrecondition, refusal("its dynamic segment names no symbols"));
    out_.texts_ = array_at<char>(offset_of(*tables.texts, tables.texts_size, "the text table"),
                                 tables.texts_size, kMostTextBytes, "the texts");
    OPYARD_CHECK(!out_.texts_.empty() && out_.texts_.back() == '\0', kFailedPrecondition,
                 refusal("its text table has no end"));
    take_texts(entries);
    read_symbols(tables);
  }

  Tables take_tables(const std::vector<Elf64_Dyn>& entries) {
    Tables tables;
    for (const Elf64_Dyn& entry : entries) {
      const uint64_t value = entry.d_un.d_val;
      if (entry.d_tag == DT_NULL) return tables;
      if (entry.d_tag == DT_STRTAB) tables.texts = value;
      if (entry.d_tag == DT_STRSZ) tables.texts_size = value;
      if (entry.d_tag == DT_SYMTAB) tables.symbols = value;
      if (entry.d_tag == DT_SYMENT) tables.symbol_size = value;
      if (entry.d_tag == DT_HASH) tables.hash = value;
      if (entry.d_tag == DT_GNU_HASH) tables.gnu_hash = value;
      if (entry.d_tag == DT_FLAGS) out_.flags_ |= value;
      if (entry.d_tag == DT_FLAGS_1) out_.flags_1_ |= value;
      if (entry.d_tag == DT_TEXTREL) out_.text_relocations_ = true;
    }
    raise(Code::kFailedPrecondition, refusal("its dynamic segment has no end"));
  }

  void take_texts(const std::vector<Elf64_Dyn>& entries) {
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_SONAME) out_.soname_ = text_at(entry.d_un.d_val);
      if (entry.d_tag == DT_RPATH) out_.rpath_ = text_at(entry.d_un.d_val);
      if (entry.d_tag == DT_RUNPATH) out_.runpath_ = text_at(entry.d_un.d_val);
      if (entry.d_tag == DT_NEEDED) out_.needed_.emplace_back(text_at(entry.d_un.d_val));
      OPYARD_CHECK(out_.needed_.size() <= kMostNeeded, kFailedPrecondition,
                   refusal("it needs more than ", kMostNeeded, " libraries"));
    }
    out_.text_relocations_ |= (out_.flags_ & DF_TEXTREL) != 0;
  }

  std::string_view text_at(uint64_t index) const {
    OPYARD_CHECK(
        index < out_.texts_.size(), kFailedPrecondition,
        refusal("a name stands at ", index, " in a text table of ", out_.texts_.size(), " bytes"));
    const std::string_view text = out_.texts_.data() + index;  // the table ends in a zero
    text_bytes_ += text.size();
    OPYARD_CHECK(text_bytes_ <= kMostNameBytes, kFailedPrecondition,
                 refusal("its names together have more than ", kMostNameBytes, " bytes"));
    return text;
  }

  // How many symbols there are is written in no header: the hash tables know.
  uint64_t count_symbols(const Tables& tables) const {
    uint64_t count = 0;
    OPYARD_CHECK(tables.hash || tables.gnu_hash, kFailedPrecondition,
                 refusal("it has no hash table, so none of its symbols can be found"));
    if (tables.hash) {
      uint32_t header[2] = {};
      read_at(offset_of(*tables.hash, sizeof(header), "the hash table"), header, sizeof(header),
              "the hash table");
      count = header[1];
    }
    if (tables.gnu_hash) count = std::max(count, count_gnu(*tables.gnu_hash));
    return count;
  }

  uint64_t count_gnu(uint64_t table) const {
    constexpr std::string_view kWhat = "the GNU hash table";
    uint32_t header[4] = {};  // buckets, first symbol, words of the filter, shift
    read_at(offset_of(table, sizeof(header), kWhat), header, sizeof(header), kWhat);
    const uint64_t first = header[1];
    const uint64_t buckets_at = table + sizeof(header) + uint64_t{header[2]} * 8;
    const uint64_t chains_at = buckets_at + uint64_t{header[0]} * 4;
    const auto buckets = array_at<uint32_t>(offset_of(buckets_at, uint64_t{header[0]} * 4, kWhat),
                                            header[0], kMostSymbols, kWhat);
    uint64_t last = 0;
    for (const uint32_t bucket : buckets) last = std::max<uint64_t>(last, bucket);
    if (last < first) return first;  // only imports
    for (; last < kMostSymbols; ++last) {
      uint32_t chain = 0;
      const uint64_t place = chains_at + (last - first) * 4;
      read_at(offset_of(place, sizeof(chain), kWhat), &chain, sizeof(chain), kWhat);
      if (chain & 1) return last + 1;
    }
    return last + 1;  // too many
  }

  void read_symbols(const Tables& tables) {
    const uint64_t count = count_symbols(tables);
    const uint64_t bytes = count <= kMostSymbols ? count * sizeof(Elf64_Sym) : 0;
    const auto raw = array_at<Elf64_Sym>(offset_of(*tables.symbols, bytes, "the symbol table"),
                                         count, kMostSymbols, "the symbols");
    out_.symbols_.reserve(raw.size());
    for (const Elf64_Sym& symbol : raw) {
      out_.symbols_.push_back({text_at(symbol.st_name),
                               static_cast<uint8_t>(ELF64_ST_BIND(symbol.st_info)),
                               static_cast<uint8_t>(ELF64_ST_TYPE(symbol.st_info)),
                               static_cast<uint8_t>(ELF64_ST_VISIBILITY(symbol.st_other)),
                               symbol.st_shndx != SHN_UNDEF, symbol.st_shndx == SHN_ABS});
    }
  }

  const SourceFile& file_;
  ElfFile& out_;
  std::vector<Elf64_Phdr> segments_;
  const Elf64_Phdr* dynamic_ = nullptr;
  std::vector<uint64_t> note_places_;
  uint64_t notes_ = 0;
  mutable uint64_t text_bytes_ = 0;
};

ElfFile::ElfFile(const SourceFile& file) : name_(file.name()) { ElfReader(file, *this).read(); }

}  // namespace opyard::plugin
