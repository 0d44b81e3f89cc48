#include "opyard/runtime/plugin_uses.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/base/no_destructor.h"

namespace opyard::runtime {

struct PluginUses::Shared {
  std::mutex mutex;  // held while a file is loaded or unloaded: yards wait for each other
  std::map<std::string, std::string> slot_of;            // by path; guarded by mutex
  std::map<std::string, std::set<PluginUses*>> wanting;  // by slot; guarded by mutex
};

PluginUses::Shared& PluginUses::shared() {
  static NoDestructor<Shared> shared;
  return *shared;
}

namespace {

std::string key_of(const std::string& path) {
  return std::filesystem::weakly_canonical(path).string();
}

void unload(const std::string& slot) {
  try {
    plugin::ChangeOptions options;
    options.allow_loss = true;
    plugin::Host::global().unload(slot, options);
  } catch (...) {
    log(LogLevel::kWarning, str_cat("plugin ", slot, " stays after the last yard that wanted it: ",
                                    current_error().message()));
  }
}

}  // namespace

PluginUses::~PluginUses() {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  for (const std::string& slot : slots_) {
    const auto found = all.wanting.find(slot);
    if (found == all.wanting.end() || found->second.erase(this) == 0) continue;
    if (!found->second.empty()) continue;
    all.wanting.erase(found);
    if (is_active(slot)) unload(slot);
  }
}

std::string PluginUses::want(const std::string& path) {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  const std::string key = key_of(path);
  const auto known = all.slot_of.find(key);
  std::string slot = known == all.slot_of.end() ? std::string() : known->second;
  if (slot.empty() || !is_active(slot)) slot = plugin::Host::global().load(path).slot;
  all.slot_of[key] = slot;
  all.wanting[slot].insert(this);
  slots_.insert(slot);
  return slot;
}

void PluginUses::note(const std::string& path, const std::string& slot) {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  all.slot_of[key_of(path)] = slot;
  all.wanting[slot].insert(this);
  slots_.insert(slot);
}

void PluginUses::forget(std::string_view slot) {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  all.wanting.erase(std::string(slot));
}

bool PluginUses::is_active(std::string_view slot) {
  for (const plugin::SlotInfo& info : plugin::Host::global().list()) {
    if (info.name == slot) return info.active != 0;
  }
  return false;
}

}  // namespace opyard::runtime
