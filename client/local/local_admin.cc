#include "client/local/local_admin.h"

#include <algorithm>
#include <map>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/runtime/yard.h"

namespace opyard::client {
namespace {

PluginGeneration to_generation(plugin::GenerationInfo from, bool with_kernels) {
  PluginGeneration out;
  out.number = from.number;
  out.state = plugin::to_string(from.state);
  out.file = std::move(from.file);
  out.path = std::move(from.path);
  out.hash = std::move(from.hash);
  out.version = std::move(from.version);
  out.abi = std::move(from.abi);
  out.fingerprint = std::move(from.fingerprint);
  out.same_build = from.same_build;
  out.probe = std::move(from.probe);
  std::map<std::string, uint64_t> reasons;
  for (plugin::KernelInfo& kernel : from.kernels) {
    ++(kernel.typed ? out.typed_kernels : out.boxed_kernels);
    if (!kernel.why_boxed.empty()) ++reasons[kernel.why_boxed];
    if (with_kernels) {
      out.kernels.push_back({kernel.op, kernel.key, kernel.typed, kernel.why_boxed});
    }
  }
  out.why_boxed.assign(reasons.begin(), reasons.end());
  out.hits_typed = from.hits_typed;
  out.hits_boxed = from.hits_boxed;
  for (const plugin::Pin& pin : from.pins) {
    out.pins.push_back({pin.thread_id, pin.holder, pin.age_ns});
  }
  for (size_t i = 0; i < from.leases.size(); ++i) {
    if (from.leases[i] == 0) continue;
    const auto kind = static_cast<plugin::LeaseKind>(i);
    out.leases.emplace_back(plugin::to_string(kind), from.leases[i]);
  }
  out.bytes_held = from.bytes_held;
  out.pinned_dependencies = std::move(from.pinned_dependencies);
  out.warnings = std::move(from.warnings);
  out.last_error = std::move(from.last_error);
  out.why_not_unloaded = std::move(from.why_not_unloaded);
  out.age_ms = from.age_ms;
  out.fallbacks = std::move(from.fallbacks);
  return out;
}

PluginSlot to_slot(plugin::SlotInfo from, bool with_kernels) {
  PluginSlot out{from.name, from.device, from.backend, from.active, from.changes, from.refused, {}};
  for (plugin::GenerationInfo& one : from.generations) {
    out.generations.push_back(to_generation(std::move(one), with_kernels));
  }
  return out;
}

PluginChange to_change(const plugin::ChangeReport& from) {
  PluginChange out{from.slot,           from.old_generation,
                   from.new_generation, from.publish_ns,
                   from.total_ns,       {},
                   from.note,           from.lost};
  if (from.old_generation != 0) out.old_state = plugin::to_string(from.old_state);
  return out;
}

plugin::ChangeOptions to_options(const PluginChangeOptions& from) {
  plugin::ChangeOptions out;
  out.allow_schema_change = from.allow_schema_change;
  out.allow_loss = from.allow_loss;
  out.allow_downgrade = from.allow_downgrade;
  out.probe = from.probe;
  out.keep_warm = from.keep_warm;
  if (from.tensors == "share") {
    out.tensors = plugin::TensorPolicy::kShare;
  } else if (from.tensors == "fail") {
    out.tensors = plugin::TensorPolicy::kFail;
  } else {
    OPYARD_CHECK(from.tensors == "keep", kInvalidArgument, "the tensor policy '", from.tensors,
                 "' is not known; wanted keep, share or fail");
  }
  return out;
}

class LocalAdmin final : public Admin {
 public:
  LocalAdmin(const std::vector<std::string>& plugin_dirs, const std::vector<std::string>& plugins)
      : yard_(options_with(plugin_dirs)) {
    for (const std::string& plugin : plugins) yard_.load_plugin(plugin);
  }

  std::string address() const override { return "local"; }

  PluginList list(const std::string& slot, bool with_kernels) override {
    PluginList out;
    for (plugin::SlotInfo& one : yard_.plugin_slots()) {
      if (!slot.empty() && one.name != slot) continue;
      out.slots.push_back(to_slot(std::move(one), with_kernels));
    }
    OPYARD_CHECK(slot.empty() || !out.slots.empty(), kNotFound, "there is no slot '", slot,
                 "'; opyard plugin list shows those there are");
    out.available = yard_.available_plugins();
    const runtime::CallTotals calls = yard_.call_totals();
    out.calls = {calls.accepted, calls.completed, calls.failed, calls.cancelled, calls.in_flight()};
    return out;
  }

  PluginChange load(const std::string& name, const PluginChangeOptions& options) override {
    return to_change(yard_.load_plugin(name, to_options(options)));
  }
  PluginChange swap(const std::string& slot, const std::string& name,
                    const PluginChangeOptions& options) override {
    return to_change(yard_.swap_plugin(slot, name.empty() ? slot : name, to_options(options)));
  }
  PluginChange unload(const std::string& slot, const PluginChangeOptions& options) override {
    return to_change(yard_.unload_plugin(slot, to_options(options)));
  }
  PluginChange rollback(const std::string& slot, const PluginChangeOptions& options) override {
    return to_change(yard_.rollback_plugin(slot, to_options(options)));
  }

  std::vector<PluginDifference> diff(const std::string& slot, const std::string& name) override {
    std::vector<PluginDifference> out;
    for (const plugin::Difference& one : yard_.diff_plugin(slot, name.empty() ? slot : name)) {
      out.push_back(
          {std::string(plugin::to_string(one.kind)), one.what, one.before, one.after, one.needs});
    }
    return out;
  }

  PluginList count_hits(const std::string& slot, std::chrono::milliseconds time) override {
    const auto start = std::chrono::steady_clock::now();
    yard_.count_plugin_hits(true);
    std::this_thread::sleep_for(time);
    yard_.count_plugin_hits(false);
    PluginList out = list(slot, false);
    const std::chrono::nanoseconds counted = std::chrono::steady_clock::now() - start;
    out.counted_ns = static_cast<uint64_t>(counted.count());
    return out;
  }

 private:
  static YardOptions options_with(const std::vector<std::string>& plugin_dirs) {
    YardOptions options;
    options.plugin_dirs = plugin_dirs;
    return options;
  }

  Yard yard_;
};

}  // namespace

std::unique_ptr<Admin> make_local_admin(const std::vector<std::string>& plugin_dirs,
                                        const std::vector<std::string>& plugins) {
  return std::make_unique<LocalAdmin>(plugin_dirs, plugins);
}

}  // namespace opyard::client
