#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "opyard/base/error.h"
#include "tests/unit/plugin/errors.h"

namespace opyard::plugin {

inline std::string module_path(const std::string& name, const std::string& folder = "a") {
  return std::string(MODULE_DIR "/") + folder + "/" + name + ".so";
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A folder of the test's own, gone afterwards.
class Folder {
 public:
  Folder() : path_(::testing::TempDir() + "opyard-files-XXXXXX") {
    if (!mkdtemp(path_.data())) ADD_FAILURE() << "no folder for the test";
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

#define EXPECT_REFUSED(body, wanted_code, part)                                        \
  do {                                                                                 \
    const ::opyard::Error refused = ::opyard::plugin::error_of([&] { (void)(body); }); \
    EXPECT_EQ(refused.code(), ::opyard::Code::wanted_code) << refused.message();       \
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();   \
  } while (false)

}  // namespace opyard::plugin
