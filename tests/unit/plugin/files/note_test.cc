#include "opyard/plugin/note.h"

#include <cstring>
#include <functional>

#include "files.h"

namespace opyard::plugin {
namespace {

HostOffers host_of(Isa isa) {
  HostOffers host;
  host.isa = isa;
  host.extensions = std::vector<std::string>{"opyard.tensors/2", "opyard.calls/1"};
  return host;
}

template <size_t N>
void put(char (&array)[N], const char* text) {
  std::memset(array, 0, N);
  std::memcpy(array, text, std::strlen(text));
}

// The good module with its note changed.
NoteFacts changed(const std::function<void(opyard_note&)>& change,
                  const HostOffers& host = host_of({3, OPYARD_ISA_AVX_VNNI})) {
  const Folder folder;
  std::string bytes = read_file(module_path("good"));
  const std::string start = {8, 2, 0, 0, 0, 0, 0, 0, 'O', 'Y', 'R', 'D'};
  const size_t at = bytes.find(start);
  EXPECT_NE(at, std::string::npos);
  opyard_note note{};
  std::memcpy(&note, bytes.data() + at, sizeof(note));
  change(note);
  std::memcpy(bytes.data() + at, &note, sizeof(note));
  write_file(folder / "good.so", bytes);
  return read_note(ElfFile(SourceFile(folder / "good.so")), host);
}

TEST(Note, SaysWhatThePluginIs) {
  const NoteFacts facts = changed([](opyard_note& note) {
    put(note.fingerprint, "abc");
    put(note.needs, "opyard.tensors/1,opyard.calls/1");
    note.isa_level = 3;
    note.isa_features = OPYARD_ISA_AVX_VNNI;
  });
  EXPECT_EQ(facts.name, "module");
  EXPECT_EQ(facts.version, "1.0.0");
  EXPECT_EQ(facts.fingerprint, "abc");
  EXPECT_EQ(facts.kind, static_cast<uint32_t>(OPYARD_KIND_KERNELS));
  EXPECT_EQ(facts.unload_class, static_cast<uint32_t>(OPYARD_UNLOADABLE));
  EXPECT_EQ(facts.claims, (std::vector<std::string>{"CPU", "device:toy"}));
  EXPECT_EQ(facts.needs, (std::vector<std::string>{"opyard.tensors/1", "opyard.calls/1"}));
  EXPECT_EQ(facts.abi_max, OPYARD_ABI_VERSION);
}

struct Case {
  const char* name;
  void (*change)(opyard_note&);
  const char* message;
};

class RefusedNote : public ::testing::TestWithParam<Case> {};

TEST_P(RefusedNote, SaysWhatIsWanted) {
  EXPECT_REFUSED(changed(GetParam().change), kFailedPrecondition, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedNote,
    ::testing::Values(
        Case{"small", [](opyard_note& n) { n.struct_size = 519; },
             "struct_size of its note is 519"},
        Case{"large", [](opyard_note& n) { n.struct_size = 528; }, "a note of 520 bytes"},
        Case{"magic", [](opyard_note& n) { n.magic = 7; }, "magic number of its note is 7"},
        Case{"newer", [](opyard_note& n) { n.abi_min = 0x20000, n.abi_max = 0x20003; },
             "speaks the versions 2.0 to 2.3 of the plugin interface, this host 1.0 to 1."},
        Case{"older", [](opyard_note& n) { n.abi_min = 0x100, n.abi_max = 0xffff; },
             "speaks the versions 0.256 to 0.65535"},
        Case{"no_range", [](opyard_note& n) { n.abi_min = n.abi_max + 1; }, "which is no range"},
        Case{"no_kind", [](opyard_note& n) { n.kind = 0; }, "has the kind 0"},
        Case{"kind", [](opyard_note& n) { n.kind = 1u << 20; }, "has the kind 1048576"},
        Case{"unload", [](opyard_note& n) { n.unload_class = 4; }, "unload class 4"},
        Case{"level", [](opyard_note& n) { n.isa_level = 4; },
             "it needs x86-64-v4 (this machine reaches x86-64-v3)"},
        Case{"no_level", [](opyard_note& n) { n.isa_level = 5; }, "level 5"},
        Case{"feature", [](opyard_note& n) { n.isa_features = OPYARD_ISA_AMX_TILE; },
             "it needs AMX_TILE"},
        Case{"future_feature", [](opyard_note& n) { n.isa_features = 1u << 30; },
             "does not know (bits 1073741824)"},
        Case{"no_name", [](opyard_note& n) { put(n.name, ""); }, "the name in its note is ''"},
        Case{"name", [](opyard_note& n) { put(n.name, "../x"); }, "is '../x'"},
        Case{"control", [](opyard_note& n) { put(n.name, "a\x1b[31m"); }, "'a?[31m') has char"},
        Case{"rest", [](opyard_note& n) { n.name[60] = 'x'; }, "not filled up with zeros"},
        Case{"version", [](opyard_note& n) { put(n.version, ""); }, "gives no version"},
        Case{"claim", [](opyard_note& n) { put(n.claims, "CPU,Nowhere"); }, "claims 'Nowhere'"},
        Case{"comma", [](opyard_note& n) { put(n.claims, "CPU,"); }, "an empty entry"},
        Case{"commas", [](opyard_note& n) { put(n.claims, "CPU,,CUDA"); }, "an empty entry"},
        Case{"twice", [](opyard_note& n) { put(n.claims, "CPU,CPU"); }, "'CPU' twice"},
        Case{"device", [](opyard_note& n) { put(n.claims, "device:a b"); }, "the device 'a b'"},
        Case{"no_device", [](opyard_note& n) { put(n.claims, "device:"); }, "the device ''"},
        Case{"backend", [](opyard_note& n) { put(n.claims, "device:cuda"); }, "backend's own"},
        Case{"need", [](opyard_note& n) { put(n.needs, "opyard.tensors"); }, "wanted is an ext"},
        Case{"need_zero", [](opyard_note& n) { put(n.needs, "opyard.calls/0"); }, "wanted is an"},
        Case{"need_version", [](opyard_note& n) { put(n.needs, "opyard.calls/2"); },
             "needs the host's extension 'opyard.calls/2'; this host has opyard.tensors/2, opy"},
        Case{"need_none", [](opyard_note& n) { put(n.needs, "other/1"); }, "'other/1'"}),
    [](const auto& info) { return info.param.name; });

TEST(Note, AFullTextNeedsNoEnd) {
  const NoteFacts facts =
      changed([](opyard_note& note) { std::memset(note.name, 'a', sizeof(note.name)); });
  EXPECT_EQ(facts.name, std::string(64, 'a'));
}

TEST(Note, NeedsAreCheckedForTheirFormWhereTheHostIsUnknown) {
  HostOffers host;
  EXPECT_EQ(changed([](opyard_note& n) { put(n.needs, "other/7"); }, host).needs.front(),
            "other/7");
  EXPECT_REFUSED(changed([](opyard_note& n) { put(n.needs, "other"); }, host), kFailedPrecondition,
                 "wanted is an extension");
}

TEST(Note, ThereIsExactlyOne) {
  EXPECT_REFUSED(read_note(ElfFile(SourceFile(module_path("no_note"))), {}), kFailedPrecondition,
                 "it has no note; use OPYARD_PLUGIN");
  EXPECT_REFUSED(read_note(ElfFile(SourceFile(module_path("two_notes"))), {}), kFailedPrecondition,
                 "more than one note");
}

TEST(Isa, WhatIsMissingIsNamed) {
  EXPECT_EQ(missing_isa({0, 0}, {1, 0}), "");
  EXPECT_EQ(missing_isa({3, 0}, {4, 0}), "");
  EXPECT_EQ(missing_isa({4, 0}, {2, 0}), "x86-64-v4 (this machine reaches x86-64-v2)");
  EXPECT_EQ(missing_isa({2, 0}, {0, 0}),
            "a level of the x86-64 instruction set (this machine is "
            "another)");
  EXPECT_EQ(missing_isa({3, OPYARD_ISA_AMX_TILE | OPYARD_ISA_AVX512_BF16}, {3, 0}),
            "AVX512_BF16, AMX_TILE");
  EXPECT_EQ(missing_isa({3, OPYARD_ISA_AMX_TILE}, {3, OPYARD_ISA_AMX_TILE}), "");
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// The compiler's library looks at CPUID and XGETBV, too.
TEST(Isa, TheMachineIsSeenAsTheCompilerSeesIt) {
  const Isa isa = machine_isa();
  EXPECT_EQ(isa.level >= 2, __builtin_cpu_supports("x86-64-v2") != 0);
  EXPECT_EQ(isa.level >= 3, __builtin_cpu_supports("x86-64-v3") != 0);
  EXPECT_EQ(isa.level >= 4, __builtin_cpu_supports("x86-64-v4") != 0);
  EXPECT_EQ((isa.features & OPYARD_ISA_AVX512_VNNI) != 0,
            __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ((isa.features & OPYARD_ISA_AVX512_BF16) != 0,
            __builtin_cpu_supports("avx512bf16") != 0);
}
#endif

}  // namespace
}  // namespace opyard::plugin
