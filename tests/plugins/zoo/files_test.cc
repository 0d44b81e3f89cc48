// Files that are no plugins, or were spoilt on their way: what lint and a host under traffic say.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "opyard_note.h"
#include "under_traffic.h"
#include "visit.h"

namespace opyard::zoo {
namespace {

// A folder of the test's own, gone afterwards.
struct Folder {
  Folder() : path(::testing::TempDir() + "opyard-zoo-XXXXXX") {
    if (!mkdtemp(path.data())) ADD_FAILURE() << "no folder for the test";
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A number at an offset, in the file's byte order, which is this machine's.
template <typename T>
void put(std::string* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

// Where the fields of the note are in the file.
size_t note_at(const std::string& bytes) {
  const std::string owner(OPYARD_NOTE_OWNER, sizeof(OPYARD_NOTE_OWNER));
  for (size_t at = bytes.find(owner); at != std::string::npos; at = bytes.find(owner, at + 1)) {
    uint32_t magic = 0;
    const size_t note = at + 8;
    std::memcpy(&magic, bytes.data() + note + offsetof(opyard_note, magic), sizeof(magic));
    if (magic == OPYARD_NOTE_MAGIC) return note;
  }
  ADD_FAILURE() << "there is no note in the file";
  return 0;
}
void put_note(std::string* bytes, size_t field, uint32_t value) {
  put(bytes, note_at(*bytes) + field, value);
}

struct Spoilt {
  const char* name;
  std::string (*bytes)(std::string good);
  const char* says;
};
void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.name; }

const Spoilt kSpoilt[] = {
    {"text", [](std::string) { return std::string("this is text\n"); }, "no ELF"},
    {"empty", [](std::string) { return std::string(); }, "is empty"},
    {"zeros", [](std::string good) { return std::string(good.size(), '\0'); }, "no ELF"},
    {"other_machine",
     [](std::string good) {
       put<uint16_t>(&good, 18, 183);  // e_machine: AArch64
       return good;
     },
     "machine"},
    {"other_class",
     [](std::string good) {
       good[4] = 1;  // EI_CLASS: 32 bits
       return good;
     },
     "made for 32 bits or for the other byte order"},
    {"other_byte_order",
     [](std::string good) {
       good[5] = 2;  // EI_DATA: most significant byte first
       return good;
     },
     "made for 32 bits or for the other byte order"},
    {"isa_unknown_level",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, isa_level), 7);
       return good;
     },
     "instruction set level 7"},
    {"isa_feature",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, isa_features), 1u << 31);
       return good;
     },
     "this machine's instruction set"},
    {"too_new",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, abi_min), 2 * 65536);
       put_note(&good, offsetof(opyard_note, abi_max), 2 * 65536 + 3);
       return good;
     },
     "it speaks the versions 2.0 to 2.3 of the plugin interface, this host 1.0 to 1.0"},
    {"too_old",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, abi_min), 1);
       put_note(&good, offsetof(opyard_note, abi_max), 9);
       return good;
     },
     "it speaks the versions 0.1 to 0.9 of the plugin interface, this host 1.0 to 1.0"},
    {"no_range",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, abi_min), 65537);
       put_note(&good, offsetof(opyard_note, abi_max), 65536);
       return good;
     },
     "which is no range"},
    {"magic",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, magic), 0);
       return good;
     },
     "magic"},
    {"note_too_large",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, struct_size), sizeof(opyard_note) + 4096);
       return good;
     },
     "the struct_size of its note"},
    {"note_too_small",
     [](std::string good) {
       put_note(&good, offsetof(opyard_note, struct_size), 64);
       return good;
     },
     "the struct_size of its note is 64"},
};

class ZooFile : public ::testing::TestWithParam<Spoilt> {};

TEST_P(ZooFile, IsRefused) {
  const Folder folder;
  const std::string path = folder.path + "/spoilt.so";
  write_file(path, GetParam().bytes(read_file(path_of("good"))));
  const Said said = run_worker({"lint", path});
  EXPECT_EQ(said.status, 1);
  EXPECT_SAYS(said.text, GetParam().says);
  UnderTraffic().visit(path, {Code::kFailedPrecondition, GetParam().says});
}

INSTANTIATE_TEST_SUITE_P(Files, ZooFile, ::testing::ValuesIn(kSpoilt),
                         [](const auto& info) { return info.param.name; });

TEST(ZooFiles, ABuildForAnotherLibraryIsWarnedOf) {
  const Folder folder;
  const std::string path = folder.path + "/other_build.so";
  std::string bytes = read_file(path_of("typed_throws_own"));
  const size_t at = note_at(bytes) + offsetof(opyard_note, fingerprint);
  const std::string own(bytes.data() + at);
  ASSERT_FALSE(own.empty());
  write_file(path, bytes);
  const Said same = run_worker({"lint", path});
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.text.find(own), std::string::npos) << same.text;
  bytes[at] = '?';
  write_file(path, bytes);
  const Said other = run_worker({"lint", path});
  EXPECT_EQ(other.status, 0);
  EXPECT_SAYS(other.text, "warning    It was built against other headers");
  EXPECT_SAYS(other.text, "('?" + own.substr(1) + "') than this library ('" + own + "')");
}

TEST(ZooFiles, CutAtEveryPageTheyAreRefused) {
  const Folder folder;
  UnderTraffic host;
  for (const char* animal : {"good", "typed_throws_own"}) {
    const std::string whole = read_file(path_of(animal));
    ASSERT_GT(whole.size(), 8192u);
    for (size_t size = 4096; size < whole.size(); size += 4096) {
      SCOPED_TRACE(size);
      const std::string path = folder.path + "/cut.so";
      write_file(path, whole.substr(0, size));
      EXPECT_EQ(run_worker({"lint", path}).status, 1);
      host.visit(path, {Code::kFailedPrecondition, ""});
    }
  }
}

TEST(ZooFiles, WhatIsNoFileIsRefused) {
  const Folder folder;
  UnderTraffic host;
  EXPECT_EQ(run_worker({"lint", folder.path}).status, 1);
  host.visit(folder.path, {Code::kFailedPrecondition, "no regular file"});
  host.visit(folder.path + "/absent.so", {Code::kNotFound, "absent.so"});
  host.visit("/dev/zero", {Code::kFailedPrecondition, "no regular file"});
}

}  // namespace
}  // namespace opyard::zoo
