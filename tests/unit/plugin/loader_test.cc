#include "opyard/plugin/loader.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "opyard/dispatch/pin.h"

namespace opyard {
namespace {

std::string path_of(std::string_view plugin) {
  return std::string(BAD_PLUGIN_DIR "/libbad_plugin_").append(plugin).append(".so");
}

// Which functions of the plugin were called, in order; forgotten by reading. Empty when it was
// never mapped.
std::string trace_of(std::string_view plugin) {
  void* library = dlopen(path_of(plugin).c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library) return {};
  char* trace = reinterpret_cast<char* (*)()>(dlsym(library, "zoo_trace"))();
  std::string text = trace;
  std::memset(trace, 0, text.size());
  dlclose(library);
  return text;
}

bool has(std::string_view op) { return Dispatcher::global().find_op(op).has_value(); }

struct Case {
  const char* plugin;
  Code code;
  const char* message;
  const char* trace;
};

class BadPlugin : public ::testing::TestWithParam<Case> {};

TEST_P(BadPlugin, IsRefusedWithItsReasonAndLeavesNothing) {
  const uint64_t before = Dispatcher::global().generation();
  try {
    const auto plugin = plugin::load(path_of(GetParam().plugin));
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.message();
    EXPECT_NE(error.message().find(GetParam().message), std::string::npos) << error.message();
  }
  EXPECT_EQ(trace_of(GetParam().plugin), GetParam().trace);
  for (const char* op : {"bad_plugin::f", "bad_plugin::g", "bad_plugin::h", "bad_plugin::i"}) {
    EXPECT_FALSE(has(op)) << op;
  }
  EXPECT_LE(Dispatcher::global().generation(), before + 1);
}

constexpr Code kPrecondition = Code::kFailedPrecondition;
constexpr Code kArgument = Code::kInvalidArgument;

INSTANTIATE_TEST_SUITE_P(
    Zoo, BadPlugin,
    ::testing::Values(
        Case{"no_entry", kPrecondition, "does not export", ""},
        Case{"refuses", kPrecondition, "needs a newer host; this host speaks the versions 1.0", ""},
        Case{"newer_abi", kPrecondition, "chose the version 1.1; this host speaks", ""},
        Case{"older_abi", kPrecondition, "chose the version 0.65535; this host speaks", ""},
        Case{"no_table", kPrecondition, "no plugin table", ""},
        Case{"small_table", kArgument, "the struct_size is 8", ""},
        Case{"long_name", kArgument, "the plugin's name has 300 bytes", ""},
        Case{"library_name", kArgument, "the library's own name", ""},
        Case{"init_fails", Code::kUnavailable, "the device is asleep", "I"},
        Case{"activate_fails", Code::kUnavailable, "the device is asleep", "IBAF"},
        Case{"other_build", kPrecondition, "another build", "IBF"},
        Case{"small_extension", kArgument, "the struct_size is 8", "IF"},
        Case{"null_function", kArgument, "no function 'blocks'", "IF"},
        Case{"null_array", kArgument, "the blocks: there is only a null pointer", "IBF"},
        Case{"small_block", kArgument, "the blocks: the struct_size is 8", "IBF"},
        Case{"huge_block", kArgument, "the blocks: the struct_size is 4294967288", "IBF"},
        Case{"odd_block", kArgument, "a multiple of 8", "IBF"},
        Case{"mixed_blocks", kArgument, "records of one array have one size", "IBF"},
        Case{"small_record", kArgument, "the registrations: the struct_size is 8", "IBF"},
        Case{"null_records", kArgument, "the registrations: there is only a null", "IBF"},
        Case{"many_records", kArgument, "are the most", "IBF"},
        Case{"null_text", kArgument, "a null pointer with 5 bytes", "IBF"},
        Case{"bad_block", kArgument, "Nowhere", "IBAQDF"},
        Case{"block_kind", kArgument, "unknown block kind 77", "IBAQDF"},
        Case{"record_kind", kArgument, "unknown registration kind 77", "IBAQDF"},
        Case{"typed_unflagged", kArgument, "without the flag OPYARD_CXX_KERNEL", "IBAQDF"},
        Case{"cxx_unflagged", kArgument, "without the flag OPYARD_CXX_KERNEL", "IBAQDF"},
        Case{"signature_unflagged", kArgument, "without the flag OPYARD_CXX_KERNEL", "IBAQDF"},
        Case{"null_tags", kArgument, "the tags of a registration", "IBF"},
        Case{"tagged_kernel", kArgument, "belong to a definition", "IBAQDF"},
        Case{"no_cxx_function", kArgument, "has no function", "IBAQDF"},
        Case{"not_there", Code::kNotFound, "no readable plugin", ""}),
    [](const auto& info) { return info.param.plugin; });

TEST(Loader, AFileThatIsNoLibraryIsRefused) {
  const std::string path = ::testing::TempDir() + "/text.so";
  std::ofstream(path) << "this is text";
  try {
    const auto plugin = plugin::load(path);
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  }
}

// Its records are larger than this host's, as those of a later minor version would be.
TEST(Loader, LargerRecordsAreReadByTheirOwnSize) {
  {
    const auto plugin = plugin::load(path_of("larger"));
    EXPECT_EQ(plugin.kernel_count(), 4u);
    for (const char* op : {"bad_plugin::f", "bad_plugin::g", "bad_plugin::h", "bad_plugin::i"}) {
      EXPECT_TRUE(has(op)) << op;
    }
    EXPECT_EQ(trace_of("larger"), "IBA");
  }
  EXPECT_EQ(trace_of("larger"), "QDF");
  EXPECT_FALSE(has("bad_plugin::i"));
}

TEST(Loader, APluginWithoutKernelsIsActivatedAndEnded) {
  { const auto plugin = plugin::load(path_of("no_extension")); }
  EXPECT_EQ(trace_of("no_extension"), "IAQDF");
}

TEST(Loader, AFailedDrainKeepsFiniAway) {
  { const auto plugin = plugin::load(path_of("drain_fails")); }
  EXPECT_EQ(trace_of("drain_fails"), "IBAQD");
}

TEST(Loader, NothingIsLoadedFromWithinACall) {
  const PinnedRoot pin;
  try {
    const auto plugin = plugin::load(path_of("larger"));
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(error.message().find("from within an operator call"), std::string::npos);
  }
  EXPECT_EQ(trace_of("larger"), "");
}

TEST(Loader, APluginLeftWithinACallEndsAfterIt) {
  {
    auto plugin = std::make_unique<plugin::Plugin>(plugin::load(path_of("larger")));
    EXPECT_EQ(trace_of("larger"), "IBA");
    const PinnedRoot pin;
    plugin.reset();
    EXPECT_EQ(trace_of("larger"), "");
  }
  epoch::synchronize();
  EXPECT_EQ(trace_of("larger"), "QDF");
  EXPECT_FALSE(has("bad_plugin::f"));
}

}  // namespace
}  // namespace opyard
