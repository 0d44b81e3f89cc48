#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "opyard/plugin/host.h"
#include "opyard/runtime/call_counts.h"

namespace opyard::runtime {

// What an operator does with plugins: plugin::Host, with names for files. A name stands for
// libopyard_plugin_NAME.so in the first configured directory that has it, and is never a path:
// INVALID_ARGUMENT for one that is not plain, NOT_FOUND (with those there are) for one without a
// file. Otherwise calls and errors are the host's. Any thread that is not within an operator call.
class PluginControl {
 public:
  virtual ~PluginControl() = default;

  virtual plugin::ChangeReport load_plugin(std::string_view name,
                                           const plugin::ChangeOptions& options) = 0;
  virtual plugin::ChangeReport swap_plugin(std::string_view slot, std::string_view name,
                                           const plugin::ChangeOptions& options) = 0;
  virtual plugin::ChangeReport unload_plugin(std::string_view slot,
                                             const plugin::ChangeOptions& options) = 0;
  virtual plugin::ChangeReport rollback_plugin(std::string_view slot,
                                               const plugin::ChangeOptions& options) = 0;
  virtual std::vector<plugin::Difference> diff_plugin(std::string_view slot,
                                                      std::string_view name) = 0;

  virtual std::vector<plugin::SlotInfo> plugin_slots() const = 0;
  virtual void count_plugin_hits(bool on) = 0;
  // Names that load_plugin would find.
  virtual std::vector<std::string> available_plugins() const = 0;
  virtual CallTotals call_totals() const = 0;
};

}  // namespace opyard::runtime
