#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace opyard::daemon {

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char name[] = "/tmp/opyard-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace opyard::daemon
