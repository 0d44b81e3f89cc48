#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/base/error.h"

// The operator's side of a yard: which plugins are loaded, and changes of them under traffic.
//
//   auto admin = opyard::client::make_grpc_admin(default_admin_address(default_address()));
//   admin->swap("cpu", "cpu", {});

namespace opyard::client {

struct PluginKernel {
  std::string op;
  std::string key;
  bool typed = false;
  std::string why_boxed;
};

// A call that keeps a generation from its end.
struct PluginPin {
  int64_t thread_id = 0;
  std::string holder;
  uint64_t age_ns = 0;
};

using CountedText = std::pair<std::string, uint64_t>;

// One build in its slot. What the fields mean stands in plugins.proto.
struct PluginGeneration {
  uint64_t number = 0;
  std::string state;  // "active", "warm", "zombie", …
  std::string file;
  std::string path;
  std::string hash;
  std::string version;
  std::string abi;
  std::string fingerprint;
  bool same_build = false;
  std::string probe;
  uint64_t typed_kernels = 0;
  uint64_t boxed_kernels = 0;
  std::vector<CountedText> why_boxed;
  std::vector<PluginKernel> kernels;  // only when asked for
  uint64_t hits_typed = 0;
  uint64_t hits_boxed = 0;
  std::vector<PluginPin> pins;
  std::vector<CountedText> leases;
  uint64_t bytes_held = 0;
  std::vector<std::string> pinned_dependencies;
  std::vector<std::string> warnings;
  std::string last_error;
  std::string why_not_unloaded;
  uint64_t age_ms = 0;
  std::vector<CountedText> fallbacks;
};

struct PluginSlot {
  std::string name;
  std::string device;
  std::string backend;
  uint64_t active = 0;  // number of a generation; 0: none
  uint64_t changes = 0;
  uint64_t refused = 0;
  std::vector<PluginGeneration> generations;  // newest first
};

// accepted = completed + failed + cancelled + in_flight.
struct CallTotals {
  uint64_t accepted = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  uint64_t in_flight = 0;
};

struct PluginChangeUnderWay {
  std::string what;  // "swap cpu"
  uint64_t age_ms = 0;
};

struct PluginList {
  std::vector<PluginSlot> slots;
  std::vector<std::string> available;
  CallTotals calls;
  std::vector<PluginChangeUnderWay> under_way;
  uint64_t counted_ns = 0;  // of count_hits
};

struct PluginChangeOptions {
  bool allow_schema_change = false;
  bool allow_loss = false;
  bool allow_downgrade = false;
  bool probe = true;
  std::string tensors = "keep";  // or share, fail
  std::optional<std::chrono::milliseconds> keep_warm{};
};

struct PluginChange {
  std::string slot;
  uint64_t old_generation = 0;  // 0: none
  uint64_t new_generation = 0;  // 0: none
  uint64_t publish_ns = 0;
  uint64_t total_ns = 0;
  std::string old_state;
  std::string note;
  std::vector<std::string> lost;
};

struct PluginDifference {
  std::string kind;  // "kernel-added", …
  std::string what;
  std::string before;
  std::string after;
  std::string needs;  // an option of swap, or empty
};

// Plugins of a yard, by names. Every method raises opyard::Error with the yard's code and message,
// and ends within its deadline: DEADLINE_EXCEEDED does not mean that a change came to nothing. Any
// thread.
class Admin {
 public:
  virtual ~Admin() = default;
  virtual std::string address() const = 0;

  // An empty slot stands for all of them.
  virtual PluginList list(const std::string& slot, bool with_kernels) = 0;
  virtual PluginChange load(const std::string& name, const PluginChangeOptions& options) = 0;
  virtual PluginChange swap(const std::string& slot, const std::string& name,
                            const PluginChangeOptions& options) = 0;
  virtual PluginChange unload(const std::string& slot, const PluginChangeOptions& options) = 0;
  virtual PluginChange rollback(const std::string& slot, const PluginChangeOptions& options) = 0;
  virtual std::vector<PluginDifference> diff(const std::string& slot, const std::string& name) = 0;
  // The hits of the next `time`, which this waits for.
  virtual PluginList count_hits(const std::string& slot, std::chrono::milliseconds time) = 0;
};

// `address`: unix:PATH of the daemon's admin socket. INVALID_ARGUMENT otherwise.
std::unique_ptr<Admin> make_grpc_admin(std::string_view address,
                                       std::chrono::milliseconds deadline);

// $OPYARD_ADMIN_ADDRESS, else the admin socket that goes with a daemon at `address`.
// INVALID_ARGUMENT when that is no Unix socket.
std::string default_admin_address(std::string_view address);

}  // namespace opyard::client
