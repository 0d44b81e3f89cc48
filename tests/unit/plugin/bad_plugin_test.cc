#include <gtest/gtest.h>

#include <fstream>
#include <mutex>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/dispatch/pin.h"
#include "opyard/plugin/host.h"

namespace {

std::mutex notes_mutex;
std::string notes;

}  // namespace

// What the plugins of the zoo call.
extern "C" __attribute__((visibility("default"))) void zoo_note(char step) {
  const std::lock_guard lock(notes_mutex);
  notes += step;
}

namespace opyard {
namespace {

using plugin::Host;
using plugin::State;

std::string path_of(std::string_view plugin) {
  return std::string(BAD_PLUGIN_DIR "/libbad_plugin_").append(plugin).append(".so");
}

// Which functions of plugins were called, in order; forgotten by reading.
std::string trace() {
  const std::lock_guard lock(notes_mutex);
  return std::exchange(notes, {});
}

plugin::ChangeOptions unprobed() {
  plugin::ChangeOptions options;
  options.probe = false;
  return options;
}

void load(std::string_view plugin) { Host::global().load(path_of(plugin), unprobed()); }

plugin::GenerationInfo newest() { return Host::global().list().at(0).generations.at(0); }

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
    load(GetParam().plugin);
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.message();
    EXPECT_NE(error.message().find(GetParam().message), std::string::npos) << error.message();
  }
  EXPECT_EQ(trace(), GetParam().trace);
  for (const char* op : {"bad_plugin::f", "bad_plugin::g", "bad_plugin::h", "bad_plugin::i"}) {
    EXPECT_FALSE(has(op)) << op;
  }
  EXPECT_LE(Dispatcher::global().generation(), before + 1);
  for (const plugin::SlotInfo& slot : Host::global().list()) {
    EXPECT_EQ(slot.active, 0u);
    EXPECT_EQ(slot.generations.at(0).state, State::kFailed);
    EXPECT_NE(slot.generations.at(0).last_error.find(GetParam().message), std::string::npos);
  }
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
        Case{"other_name", kPrecondition, "says the name 'good' in its handshake and 'bad'", ""},
        Case{"other_version", kPrecondition, "says the version '2.0.0'", ""},
        Case{"other_fingerprint", kPrecondition, "says the fingerprint 'my build'", ""},
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
        Case{"bad_block", kArgument, "Nowhere", "IBF"},
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
    Host::global().load(path, unprobed());
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  }
}

// Its records are larger than this host's, as those of a later minor version would be.
TEST(Loader, LargerRecordsAreReadByTheirOwnSize) {
  load("larger");
  EXPECT_EQ(newest().kernels.size(), 4u);
  for (const char* op : {"bad_plugin::f", "bad_plugin::g", "bad_plugin::h", "bad_plugin::i"}) {
    EXPECT_TRUE(has(op)) << op;
  }
  EXPECT_EQ(trace(), "IBA");
  Host::global().unload("bad");
  EXPECT_EQ(trace(), "QDF");
  EXPECT_EQ(newest().state, State::kClosed) << newest().why_not_unloaded;
  EXPECT_FALSE(has("bad_plugin::i"));
}

TEST(Loader, APluginWithoutKernelsIsActivatedAndEnded) {
  load("no_extension");
  Host::global().unload("bad");
  EXPECT_EQ(trace(), "IAQDF");
}

TEST(Loader, AFailedDrainKeepsFiniAway) {
  load("drain_fails");
  Host::global().unload("bad");
  EXPECT_EQ(trace(), "IBAQD");
  EXPECT_EQ(newest().state, State::kZombie);
  EXPECT_EQ(newest().why_not_unloaded, "its drain failed: the device is asleep");
}

TEST(Loader, NothingChangesFromWithinACall) {
  const PinnedRoot pin;
  const auto refused = [](auto change) {
    try {
      change();
      return false;
    } catch (const Error& error) {
      return error.code() == Code::kFailedPrecondition &&
             error.message().find("from within an operator call") != std::string::npos;
    }
  };
  EXPECT_TRUE(refused([] { load("larger"); }));
  EXPECT_TRUE(refused([] { Host::global().swap("bad", path_of("larger"), unprobed()); }));
  EXPECT_TRUE(refused([] { Host::global().unload("bad"); }));
  EXPECT_TRUE(refused([] { Host::global().rollback("bad"); }));
  EXPECT_EQ(trace(), "");
}

}  // namespace
}  // namespace opyard
