#pragma once

#include <set>
#include <string>
#include <string_view>

#include "opyard/plugin/host.h"

namespace opyard::runtime {

// The plugins that one yard wants. The dispatcher's tables are the process's, so a plugin is loaded
// once however many yards want it, and leaves with the last of them. One thread at a time; other
// objects are independent.
class PluginUses {
 public:
  PluginUses() = default;
  PluginUses(const PluginUses&) = delete;
  PluginUses& operator=(const PluginUses&) = delete;
  // Unloads what no other yard wants. What cannot be unloaded now stays, and the log says so.
  ~PluginUses();

  // Loads the file unless its plugin is active for another yard already; the slot's name. Errors of
  // Host::load.
  std::string want(const std::string& path);
  // Notes that this yard wants what was just loaded from the file.
  void note(const std::string& path, const std::string& slot);
  // Notes that the slot was emptied on purpose: nobody wants it any more.
  void forget(std::string_view slot);

  // A generation of it is active.
  static bool is_active(std::string_view slot);

 private:
  struct Shared;
  static Shared& shared();

  std::set<std::string> slots_;
};

}  // namespace opyard::runtime
