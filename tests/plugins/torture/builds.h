#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/plugins/torture/stamp.h"

// Builds of a plugin: copies of its file, each with a stamp of its own.
namespace opyard::torture {

class Builds {
 public:
  // Copies go to `folder`, called `prefix` and their number. INVALID_ARGUMENT when the file has no
  // stamp, or several.
  Builds(const std::string& file, std::string folder, std::string prefix = "build-");

  struct Build {
    uint64_t number;
    std::string file;
  };
  // Numbers are taken once in the process.
  Build make(torture_fault fault, uint32_t slow_ms) const;

 private:
  std::string bytes_;
  size_t stamp_at_ = 0;
  std::string folder_;
  std::string prefix_;
};

}  // namespace opyard::torture
