#include "opyard/plugin/loader.h"

#include <gtest/gtest.h>

#include <fstream>

namespace opyard {
namespace {

struct Case {
  const char* plugin;
  Code code;
  const char* message;
};

class BadPlugin : public ::testing::TestWithParam<Case> {};

TEST_P(BadPlugin, IsRefusedWithItsReasonAndLeavesNothing) {
  const uint64_t before = Dispatcher::global().generation();
  const std::string path =
      std::string(BAD_PLUGIN_DIR "/libbad_plugin_") + GetParam().plugin + ".so";
  try {
    const auto plugin = plugin::load(path);
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.message();
    EXPECT_NE(error.message().find(GetParam().message), std::string::npos) << error.message();
  }
  EXPECT_FALSE(Dispatcher::global().find_op("bad_plugin::f"));
  EXPECT_LE(Dispatcher::global().generation(), before + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, BadPlugin,
    ::testing::Values(Case{"no_entry", Code::kFailedPrecondition, "does not export"},
                      Case{"refuses", Code::kFailedPrecondition, "needs a newer host"},
                      Case{"other_abi", Code::kFailedPrecondition, "chose the ABI version"},
                      Case{"no_table", Code::kFailedPrecondition, "no plugin table"},
                      Case{"init_fails", Code::kUnavailable, "the device is asleep"},
                      Case{"other_build", Code::kFailedPrecondition, "another build"},
                      Case{"bad_block", Code::kInvalidArgument, "Nowhere"},
                      Case{"not_there", Code::kNotFound, "no readable plugin"}),
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

}  // namespace
}  // namespace opyard
