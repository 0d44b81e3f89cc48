// Names of plugins, and the files that they stand for.
#include "opyard/runtime/plugin_dirs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "opyard/base/error.h"

namespace opyard::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PluginDirsTest : public ::testing::Test {
 protected:
  PluginDirsTest() {
    char name[] = "/tmp/opyard-dirs-XXXXXX";
    base_ = mkdtemp(name);
    for (const char* dir : {"a", "b"}) std::filesystem::create_directory(base_ + "/" + dir);
  }
  ~PluginDirsTest() override { std::filesystem::remove_all(base_); }

  std::string make(const std::string& file) {
    const std::string path = base_ + "/" + file;
    std::ofstream(path) << "x";
    return path;
  }
  PluginDirs dirs() const { return PluginDirs({base_ + "/a", base_ + "/b"}); }

  static Error error_of(const PluginDirs& dirs, std::string_view name) {
    try {
      static_cast<void>(dirs.find(name));
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::kOk, "it was found");
  }

  std::string base_;
};

TEST_F(PluginDirsTest, TheFirstDirectoryThatHasOneCounts) {
  const std::string first = make("a/libopyard_plugin_cpu.so");
  make("b/libopyard_plugin_cpu.so");
  const std::string other = make("b/libopyard_plugin_toy-2.so");
  make("b/other.so");
  make("b/libopyard_plugin_.so");
  make("b/libopyard_plugin_no name.so");
  EXPECT_EQ(dirs().find("cpu"), first);
  EXPECT_EQ(dirs().find("toy-2"), other);
  EXPECT_THAT(dirs().available(), ElementsAre("cpu", "toy-2"));
}

TEST_F(PluginDirsTest, OnlyPlainNames) {
  make("libopyard_plugin_outside.so");
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("../outside"), std::string("a/b"),
        std::string("/etc/passwd"), std::string("a b"), std::string("a\nb"), std::string("a\0b", 3),
        std::string("cpu.so"), std::string(65, 'x'), std::string("\xc3\xa4")}) {
    EXPECT_EQ(error_of(dirs(), name).code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(error_of(dirs(), std::string(64, 'x')).code(), Code::kNotFound);
}

TEST_F(PluginDirsTest, WhoGivesAFileIsToldTheName) {
  const auto hint = [](std::string_view name) {
    const std::string text = error_of(PluginDirs({"/nowhere"}), name).message();
    const size_t at = text.find("; a plugin is named, not located: ");
    return at == text.npos ? std::string() : text.substr(at + 34);
  };
  EXPECT_EQ(hint("./b/libopyard_plugin_x.so"), "--plugin-dir ./b --plugin x");
  EXPECT_EQ(hint("b/x"), "--plugin-dir b --plugin x");
  EXPECT_EQ(hint("libopyard_plugin_x.so"), "--plugin x");
  EXPECT_EQ(hint("/"), "--plugin-dir DIR --plugin NAME");
  EXPECT_EQ(hint("a\nb/x"), "--plugin-dir DIR --plugin NAME");
  EXPECT_EQ(hint(std::string(300, 'a') + "/x"), "--plugin-dir DIR --plugin NAME");
  EXPECT_EQ(hint("a b"), "");
}

TEST_F(PluginDirsTest, WhatIsMissingIsToldWithWhatIsThere) {
  make("b/libopyard_plugin_toy.so");
  std::filesystem::create_directory(base_ + "/a/libopyard_plugin_dir.so");
  for (const char* name : {"cpu", "dir"}) {
    const Error error = error_of(dirs(), name);
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.message(), HasSubstr(base_ + "/a, " + base_ + "/b"));
    EXPECT_THAT(error.message(), HasSubstr("toy"));
  }
  const PluginDirs none({base_ + "/missing"});
  EXPECT_THAT(none.available(), IsEmpty());
  EXPECT_THAT(error_of(none, "cpu").message(), HasSubstr("there is none"));
}

}  // namespace
}  // namespace opyard::runtime
