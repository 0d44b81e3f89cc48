#include "app/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "opyard/base/error.h"
#include "tests/unit/daemon/temporary_directory.h"

namespace opyard::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CommandLine read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "opyardd");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

std::string refusal(std::vector<const char*> arguments) {
  try {
    read(std::move(arguments));
    return "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
}

// Sets a variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(OptionsTest, Defaults) {
  const Options options = read({}).options;
  EXPECT_TRUE(options.listen.empty());
  EXPECT_THAT(options.plugin, ElementsAre("cpu"));
  EXPECT_FALSE(options.insecure_tcp);
  EXPECT_EQ(options.drain_seconds, 30u);
}

TEST(OptionsTest, FlagsCanBeTurnedOff) {
  EXPECT_TRUE(read({}).options.cpu_fallback);
  EXPECT_FALSE(read({"--cpu-fallback=false"}).options.cpu_fallback);
  EXPECT_TRUE(read({"--cpu-fallback"}).options.cpu_fallback);
  EXPECT_FALSE(read({"--insecure-tcp=false"}).options.insecure_tcp);
  const Variable off("OPYARD_CPU_FALLBACK", "off");
  EXPECT_FALSE(read({}).options.cpu_fallback);
  EXPECT_TRUE(read({"--cpu-fallback=true"}).options.cpu_fallback);
  EXPECT_NE(refusal({"--cpu-fallback=perhaps"}), "taken");
}

TEST(OptionsTest, Flags) {
  const Options options = read({"--listen", "unix:/a", "--listen=unix:/b", "--insecure-tcp",
                                "--threads", "3", "--plugin-dir", "/a", "--plugin-dir", "/b"})
                              .options;
  EXPECT_THAT(options.listen, ElementsAre("unix:/a", "unix:/b"));
  EXPECT_THAT(options.plugin_dir, ElementsAre("/a", "/b"));
  EXPECT_TRUE(options.insecure_tcp);
  EXPECT_EQ(options.threads, 3u);
}

TEST(OptionsTest, FlagsWinOverEnvironmentOverFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("opyardd.toml");
  std::ofstream(path) << "threads = 1\nsessions = 2\nlog_level = 'debug'\nlisten = ['unix:/f']\n";
  const Variable config("OPYARD_CONFIG", path.c_str());
  const Variable sessions("OPYARD_SESSIONS", "20");
  const Variable level("OPYARD_LOG_LEVEL", "error");
  const Variable listen("OPYARD_LISTEN", "unix:/e,unix:/f");
  const Options options = read({"--log-level", "warning"}).options;
  EXPECT_EQ(options.threads, 1u);
  EXPECT_EQ(options.sessions, 20u);
  EXPECT_EQ(options.log_level, "warning");
  EXPECT_THAT(options.listen, ElementsAre("unix:/e", "unix:/f"));
}

TEST(OptionsTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal({"--nonsense"}), HasSubstr("--nonsense"));
  EXPECT_THAT(refusal({"--threads", "many"}), HasSubstr("--threads: 'many'"));
  EXPECT_THAT(refusal({"--threads", "-1"}), HasSubstr("--threads"));
  EXPECT_THAT(refusal({"stray"}), HasSubstr("stray"));
  EXPECT_THAT(refusal({"--config", "/no/such/file"}), HasSubstr("/no/such/file"));
  const Variable sessions("OPYARD_INSECURE_TCP", "perhaps");
  EXPECT_THAT(refusal({}), HasSubstr("OPYARD_INSECURE_TCP"));
}

TEST(OptionsTest, WhatIsWrongInAFileIsNamedWithItsLine) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("opyardd.toml");
  const auto with = [&](const char* text) {
    std::ofstream(path) << text;
    return refusal({"--config", path.c_str()});
  };
  EXPECT_THAT(with("threads = 1\nthreds = 2\n"), HasSubstr("line 2, key 'threds'"));
  EXPECT_THAT(with("threads = 'two'\n"), HasSubstr("wanted a whole number"));
  EXPECT_THAT(with("threads = -2\n"), HasSubstr("wanted a whole number"));
  EXPECT_THAT(with("listen = 'unix:/a'\n"), HasSubstr("an array of texts"));
  EXPECT_THAT(with("threads = \n"), HasSubstr("line 1"));
}

TEST(OptionsTest, PrintedConfigurationReadsBack) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("opyardd.toml");
  const CommandLine printed =
      read({"--listen", "unix:/with \"quotes\"", "--sessions", "5", "--print-config"});
  ASSERT_TRUE(printed.done);
  std::ofstream(path) << printed.text;
  const Options options = read({"--config", path.c_str()}).options;
  EXPECT_THAT(options.listen, ElementsAre("unix:/with \"quotes\""));
  EXPECT_EQ(options.sessions, 5u);
  EXPECT_THAT(options.plugin, ElementsAre("cpu"));
}

TEST(OptionsTest, HelpListsEveryOption) {
  const CommandLine help = read({"--help"});
  ASSERT_TRUE(help.done);
#define OPYARD_OPTION_NAME(type, name, value, doc) #name,
  for (std::string name : {OPYARD_DAEMON_OPTIONS(OPYARD_OPTION_NAME)}) {
    for (char& c : name) c = c == '_' ? '-' : c;
    EXPECT_THAT(help.text, HasSubstr("--" + name));
  }
#undef OPYARD_OPTION_NAME
}

}  // namespace
}  // namespace opyard::daemon
