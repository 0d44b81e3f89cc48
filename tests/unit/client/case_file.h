#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace opyard::client {

// A file with this text, gone at the end of the test.
class CaseFile {
 public:
  explicit CaseFile(const std::string& text)
      : path_(testing::TempDir() + "opyard_cases_" + std::to_string(getpid()) + ".yaml") {
    std::ofstream(path_) << text;
  }
  ~CaseFile() { std::remove(path_.c_str()); }
  CaseFile(const CaseFile&) = delete;
  CaseFile& operator=(const CaseFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace opyard::client
