#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace opyard::runtime {

// Where plugins are found by name: libopyard_plugin_NAME.so in the first directory that has it.
// Constant; any thread.
class PluginDirs {
 public:
  // None: ../lib/opyard/plugins seen from the folder of libopyard's own folder.
  explicit PluginDirs(std::vector<std::string> dirs);

  // The file of a name. INVALID_ARGUMENT: not a plain name (letters, digits, '_', '-'; at most 64).
  // NOT_FOUND: no such file (names those there are).
  std::string find(std::string_view name) const;
  // Names that have a file, in their order.
  std::vector<std::string> available() const;
  const std::vector<std::string>& dirs() const { return dirs_; }

 private:
  const std::vector<std::string> dirs_;
};

}  // namespace opyard::runtime
