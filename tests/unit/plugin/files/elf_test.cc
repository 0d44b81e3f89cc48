#include "opyard/plugin/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "files.h"

namespace opyard::plugin {
namespace {

ElfFile elf_of(const std::string& path) { return ElfFile(SourceFile(path)); }

TEST(ElfFile, ReadsWhatTheLoaderWouldSee) {
  const ElfFile file = elf_of(module_path("private"));
  EXPECT_FALSE(file.has_executable_stack());
  EXPECT_FALSE(file.has_text_relocations());
  EXPECT_FALSE(file.has_thread_locals());
  EXPECT_FALSE(file.has_writable_code());
  EXPECT_EQ(file.runpath() + file.rpath(), "$ORIGIN");
  EXPECT_EQ(file.needed().front(), "libopyard_test_private.so.1");
  EXPECT_EQ(elf_of(MODULE_DIR "/a/libopyard_test_private.so.1").soname(),
            "libopyard_test_private.so.1");
  bool entry = false;
  bool import = false;
  for (const ElfSymbol& symbol : file.symbols()) {
    entry |= symbol.name == "opyard_plugin_entry" && symbol.defined &&
             symbol.binding == STB_GLOBAL && symbol.type == STT_FUNC &&
             symbol.visibility == STV_DEFAULT;
    import |= symbol.name == "library_answer" && !symbol.defined;
  }
  EXPECT_TRUE(entry);
  EXPECT_TRUE(import);
}

TEST(ElfFile, WhatIsNoPluginIsNamed) {
  const Folder folder;
  const std::string path = folder / "file.so";
  write_file(path, "this is text, and more of it than a header has bytes in it, as it happens");
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "no ELF file");
  write_file(path,
             "\x7f"
             "ELF");
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "32 bits");
  write_file(path, "");
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "is empty");
  EXPECT_REFUSED(elf_of(folder.path()), kFailedPrecondition, "no regular file");
  EXPECT_REFUSED(elf_of(folder / "absent.so"), kNotFound, "No such file");
  ASSERT_EQ(symlink(path.c_str(), (folder / "link.so").c_str()), 0);
  EXPECT_REFUSED(elf_of(folder / "link.so"), kFailedPrecondition, "symbolic link");
  EXPECT_REFUSED(elf_of(folder / "new\nline"), kFailedPrecondition, "new?line");
  EXPECT_REFUSED(elf_of(""), kFailedPrecondition, "no name");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_REFUSED(elf_of(folder / "fifo"), kFailedPrecondition, "no regular file");
  ASSERT_EQ(truncate(path.c_str(), (off_t{1} << 30) + 1), 0);
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "at most");
}

TEST(SourceFile, LinksAreFollowedOnRequest) {
  namespace fs = std::filesystem;
  const Folder folder;
  fs::create_directory(folder / "links");
  write_file(folder / "real.so", "x");
  fs::create_symlink("../real.so", folder / "links/one.so");
  fs::create_symlink(folder / "links/one.so", folder / "two.so");
  const SourceFile file = SourceFile::follow(folder / "two.so");
  EXPECT_EQ(file.name(), "real.so");
  file.check_owner();
  EXPECT_EQ(SourceFile::follow(folder / "real.so").name(), "real.so");
  // Who can change a link's folder chooses the file.
  ASSERT_EQ(chmod((folder / "links").c_str(), 0777), 0);
  EXPECT_REFUSED(SourceFile::follow(folder / "two.so").check_owner(), kPermissionDenied,
                 "of a link");
  fs::create_symlink("round.so", folder / "round.so");
  EXPECT_REFUSED(SourceFile::follow(folder / "round.so"), kFailedPrecondition, "more than 8");
  fs::create_symlink("nowhere.so", folder / "dangling.so");
  EXPECT_REFUSED(SourceFile::follow(folder / "dangling.so"), kNotFound, "nowhere.so");
}

TEST(ElfFile, AnotherMachineOrKindIsNamed) {
  const Folder folder;
  const std::string path = folder / "file.so";
  std::string bytes = read_file(module_path("good"));
  Elf64_Ehdr header{};
  const auto put = [&](const Elf64_Ehdr& changed) {
    std::memcpy(bytes.data(), &changed, sizeof(changed));
    write_file(path, bytes);
  };
  std::memcpy(&header, bytes.data(), sizeof(header));
  Elf64_Ehdr changed = header;
  changed.e_machine = EM_RISCV;
  put(changed);
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "made for the machine RISC-V; this host is");
  changed = header;
  changed.e_type = ET_REL;
  put(changed);
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "no shared object");
  changed = header;
  changed.e_ident[EI_DATA] = ELFDATA2MSB;
  put(changed);
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "other byte order");
  changed = header;
  changed.e_shoff = ~uint64_t{0};
  put(changed);
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "cut off");
  changed = header;
  changed.e_phnum = PN_XNUM;
  put(changed);
  EXPECT_REFUSED(elf_of(path), kFailedPrecondition, "are the most");
}

// The section headers are for linkers; what was stripped of them can be loaded and read.
TEST(ElfFile, SectionHeadersAreNotNeeded) {
  const Folder folder;
  const std::string path = folder / "file.so";
  std::string bytes = read_file(module_path("good"));
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.e_shoff = 0;
  header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof(header));
  write_file(path, bytes);
  EXPECT_EQ(elf_of(path).symbols().size(), elf_of(module_path("good")).symbols().size());
}

TEST(ElfFile, WhateverWasCutOffIsRefused) {
  const Folder folder;
  const std::string path = folder / "file.so";
  const std::string bytes = read_file(module_path("good"));
  std::mt19937 random(4);
  std::vector<size_t> sizes;
  for (size_t size = 4096; size < bytes.size(); size += 4096) sizes.push_back(size);
  for (int i = 0; i < 200; ++i) sizes.push_back(1 + random() % (bytes.size() - 1));
  for (size_t size = 1; size < 200; ++size) sizes.push_back(size);
  for (const size_t size : sizes) {
    write_file(path, bytes.substr(0, size));
    EXPECT_EQ(error_of([&] { elf_of(path); }).code(), Code::kFailedPrecondition) << size;
  }
}

// Damaged files are refused or read; they do nothing else. Under AddressSanitizer this shows reads
// that go too far.
class Damage {
 public:
  Damage(const std::string& path, std::string bytes) : bytes_(std::move(bytes)) {
    write_file(path, bytes_);
    file_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  }
  ~Damage() { close(file_); }

  template <typename Body>
  void with(size_t at, const std::string& other, Body&& body) {
    at = std::min(at, bytes_.size() - other.size());
    EXPECT_EQ(pwrite(file_, other.data(), other.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(other.size()));
    body();
    EXPECT_EQ(pwrite(file_, bytes_.data() + at, other.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(other.size()));
  }

 private:
  std::string bytes_;
  int file_ = -1;
};

TEST(ElfFile, DamagedFilesDoNoHarm) {
  const Folder folder;
  const std::string path = folder / "file.so";
  const std::string bytes = read_file(module_path("unique"));
  Damage damage(path, bytes);
  std::mt19937_64 random(5);
  constexpr uint64_t kOdd[] = {
      0, 1, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 32, 0x7fffffffffffffff};
  int refused = 0;
  const auto look = [&] {
    const Error error = error_of([&] { elf_of(path); });
    EXPECT_TRUE(error.code() == Code::kOk || error.code() == Code::kFailedPrecondition)
        << error.message();
    refused += error.code() != Code::kOk;
  };
  // Headers and tables stand at the start: every eighth byte there gets each odd number.
  for (size_t at = 16; at < std::min<size_t>(bytes.size(), 1600); at += 8) {
    for (const uint64_t odd : kOdd) {
      std::string word(8, 0);
      std::memcpy(word.data(), &odd, 8);
      damage.with(at, word, look);
    }
  }
  EXPECT_GT(refused, 100);
  for (int i = 0; i < 3000; ++i) {
    const std::string word(1 + random() % 8, static_cast<char>(random()));
    damage.with(random() % (i % 2 == 0 ? bytes.size() : 3000), word, look);
  }
}

// The dynamic segment, which says where everything else is, with every word of it odd.
TEST(ElfFile, DamagedDynamicSegmentsDoNoHarm) {
  const Folder folder;
  const std::string path = folder / "file.so";
  const std::string bytes = read_file(module_path("good"));
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  Elf64_Phdr segment{};
  for (int i = 0; i < header.e_phnum && segment.p_type != PT_DYNAMIC; ++i) {
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
  }
  ASSERT_EQ(segment.p_type, PT_DYNAMIC);
  Damage damage(path, bytes);
  int refused = 0;
  for (size_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz; at += 8) {
    for (const char filler : {'\xff', '\x7f', '\x01', '\0', '\x10'}) {
      for (const size_t size : {1, 2, 4, 8}) {
        damage.with(at, std::string(size, filler), [&] {
          refused += error_of([&] { elf_of(path); }).code() == Code::kFailedPrecondition;
        });
      }
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_EQ(error_of([&] { elf_of(path); }).code(), Code::kOk);
}

}  // namespace
}  // namespace opyard::plugin
