#include "opyard/runtime/yard.h"

#include <utility>

#include "kernels/shape/compute_gate.h"
#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/runtime/catalog.h"
#include "opyard/runtime/initialize.h"

namespace opyard::runtime {
namespace {

constexpr size_t kShownName = 64;

Quotas fill_in(Quotas quotas, const Machine& machine) {
  if (quotas.total_bytes == 0) quotas.total_bytes = machine.memory_bytes / 4 * 3;
  if (quotas.session_bytes == 0) quotas.session_bytes = quotas.total_bytes;
  return quotas;
}

void warn_of_dangling_kernels() {
  for (const std::string& op : Dispatcher::global().dangling_impls()) {
    log(LogLevel::kWarning, str_cat("there are kernels for '", op,
                                    "', which nothing defines; is its name spelled as in def()?"));
  }
}

std::string describe(const plugin::ChangeReport& report) {
  std::string text;
  if (report.old_generation != 0) {
    text +=
        str_cat("generation ", report.old_generation, " is ", to_string(report.old_state), ", ");
  }
  if (report.new_generation != 0) {
    text += str_cat("generation ", report.new_generation, " is active, ");
  }
  text += str_cat("published in ", report.publish_ns / 1000, " µs, done in ",
                  report.total_ns / 1'000'000, " ms");
  if (!report.lost.empty()) text += str_cat("; ", report.lost.size(), " kernels went");
  if (!report.note.empty()) text += str_cat("; ", report.note);
  return text;
}

// A change that an operator asked for; the log tells what came of it.
template <typename Change>
plugin::ChangeReport logged(std::string_view verb, std::string_view name, Change change) {
  try {
    const plugin::ChangeReport report = change();
    log(LogLevel::kInfo, str_cat("plugin ", report.slot, ": ", verb, ": ", describe(report)));
    warn_of_dangling_kernels();
    return report;
  } catch (const Error& error) {
    log(LogLevel::kWarning, str_cat("plugin ", name.substr(0, kShownName), ": ", verb,
                                    " refused: ", code_name(error.code()), ": ", error.message()));
    throw;
  }
}

}  // namespace

Yard::Yard(YardOptions options)
    : machine_(Machine::detect()),
      plugin_dirs_(std::move(options.plugin_dirs)),
      executor_(std::make_unique<Executor>(options.threads > 0 ? options.threads : machine_.cores)),
      sessions_(std::make_unique<Sessions>(fill_in(options.quotas, machine_), *executor_)) {
  shape::set_compute_threads(machine_.cores);
  initialize();
}

Yard::~Yard() {
  sessions_.reset();  // queues the last work of every session
  executor_.reset();  // and here it is done
}

void Yard::load_plugin(std::string_view name) {
  const std::string path = plugin_dirs_.find(name);
  const std::lock_guard lock(mutex_);
  const auto known = slots_.find(name);
  if (known != slots_.end() && PluginUses::is_active(known->second)) return;
  slots_[std::string(name)] = uses_.want(path);
  log(LogLevel::kInfo, str_cat("plugin ", name, " loaded from ", path));
  warn_of_dangling_kernels();
}

std::vector<std::string> Yard::plugins() const {
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, slot] : slots_) {
    if (PluginUses::is_active(slot)) names.push_back(name);
  }
  return names;
}

// Nothing is locked while the host works: a plugin that hangs holds up its own slot only.
plugin::ChangeReport Yard::load_plugin(std::string_view name,
                                       const plugin::ChangeOptions& options) {
  return logged("load", name, [&] {
    const std::string path = plugin_dirs_.find(name);
    plugin::ChangeReport report = plugin::Host::global().load(path, options);
    const std::lock_guard lock(mutex_);
    uses_.note(path, report.slot);
    slots_[std::string(name)] = report.slot;
    return report;
  });
}

plugin::ChangeReport Yard::swap_plugin(std::string_view slot, std::string_view name,
                                       const plugin::ChangeOptions& options) {
  return logged("swap", slot, [&] {
    return plugin::Host::global().swap(slot, plugin_dirs_.find(name), options);
  });
}

plugin::ChangeReport Yard::unload_plugin(std::string_view slot,
                                         const plugin::ChangeOptions& options) {
  return logged("unload", slot, [&] {
    plugin::ChangeReport report = plugin::Host::global().unload(slot, options);
    const std::lock_guard lock(mutex_);
    uses_.forget(report.slot);
    return report;
  });
}

plugin::ChangeReport Yard::rollback_plugin(std::string_view slot,
                                           const plugin::ChangeOptions& options) {
  return logged("rollback", slot, [&] { return plugin::Host::global().rollback(slot, options); });
}

std::vector<plugin::Difference> Yard::diff_plugin(std::string_view slot, std::string_view name) {
  return plugin::Host::global().diff(slot, plugin_dirs_.find(name));
}

std::vector<plugin::SlotInfo> Yard::plugin_slots() const { return plugin::Host::global().list(); }

void Yard::count_plugin_hits(bool on) { plugin::Host::global().count_hits(on); }

std::vector<std::string> Yard::devices() const { return devices_with_kernels(); }

}  // namespace opyard::runtime
