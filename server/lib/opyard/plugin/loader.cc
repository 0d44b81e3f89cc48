#include "opyard/plugin/loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string_view>

#include "opyard/base/check.h"
#include "opyard/base/epoch.h"
#include "opyard/base/fingerprint.h"
#include "opyard/base/log.h"
#include "opyard/core/thread_state.h"
#include "opyard/plugin/host_table.h"
#include "opyard/plugin/records.h"

namespace opyard::plugin {
namespace {

constexpr std::string_view kFingerprint = OPYARD_BUILD_FINGERPRINT;

opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

constexpr uint32_t kLongestName = 256;
constexpr uint32_t kLongestMessage = 4096;
constexpr std::chrono::seconds kPatience{5};  // for quiesce, and for drain

std::string version_text(uint32_t abi) { return str_cat(abi >> 16, ".", abi & 0xffff); }

std::string host_versions() {
  return str_cat("this host speaks the versions ", version_text(OPYARD_ABI_OLDEST), " to ",
                 version_text(OPYARD_ABI_VERSION), " of the plugin interface");
}

uint64_t next_generation() {
  static std::atomic<uint64_t> generation{0};
  return ++generation;
}

opyard_plugin_handshake shake_hands(const std::string& path, void* library) {
  auto entry = reinterpret_cast<opyard_plugin_entry_fn>(dlsym(library, "opyard_plugin_entry"));
  OPYARD_CHECK(entry != nullptr, kFailedPrecondition, "'", path,
               "' is no plugin: it does not export opyard_plugin_entry");
  const opyard_host_handshake host{sizeof(host), 0, OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION,
                                   as_str(kFingerprint)};
  opyard_plugin_handshake answer{};
  answer.struct_size = sizeof(answer);
  const int32_t code = entry(&host, &answer);
  OPYARD_CHECK(code == 0, kFailedPrecondition, "'", path,
               "' refuses this host: ", take_text(answer.message, kLongestMessage, "its reason"),
               "; ", host_versions());
  OPYARD_CHECK(answer.abi >= host.abi_min && answer.abi <= host.abi_max, kFailedPrecondition, "'",
               path, "' chose the version ", version_text(answer.abi), "; ", host_versions());
  OPYARD_CHECK(answer.table, kFailedPrecondition, "'", path, "' gives no plugin table");
  return answer;
}

// C++ kernels may only be taken from a build with the same types.
void check_fingerprint(const std::string& path, const std::string& theirs,
                       ArrayRef<opyard_block> blocks) {
  if (theirs == kFingerprint) return;
  for (const opyard_block& block : blocks) {
    for (uint64_t i = 0; i < block.count; ++i) {
      OPYARD_CHECK(!(block.registrations[i].flags & OPYARD_CXX_KERNEL), kFailedPrecondition, "'",
                   path, "' was built against other headers or with another compiler ('", theirs,
                   "') than this library ('", kFingerprint,
                   "'); build it anew, or register boxed kernels of the C interface");
    }
  }
}

size_t count_kernels(ArrayRef<opyard_block> blocks) {
  size_t count = 0;
  for (const opyard_block& block : blocks) {
    for (uint64_t i = 0; i < block.count; ++i) {
      count += block.registrations[i].kind != OPYARD_REGISTER_DEF;
    }
  }
  return count;
}

}  // namespace

struct Plugin::State {
  std::string path;
  std::string name;
  std::string version;
  std::string fingerprint;
  uint64_t generation = 0;
  size_t kernels = 0;
  opyard_plugin_table table{};
  void* instance = nullptr;
  bool initialised = false;
  bool active = false;
  Leases leases;
  std::unique_ptr<HostTable> host;
  Registration registration;

  void start();
  Records kernel_records(StatusRoom& status) const;
  void finish(bool grace_is_over);
  bool await_grace() const;
  bool settle(int32_t (*step)(void*, uint64_t, opyard_status*), std::string_view what) const;
};

void Plugin::State::start() {
  StatusRoom status;
  host = std::make_unique<HostTable>(name, leases);
  if (table.init) {
    const int32_t code = table.init(&host->table(), &instance, status.get());
    if (code != 0) throw status.error(code, str_cat("plugin '", name, "' failed to start"));
  }
  initialised = true;
  const Records records = kernel_records(status);
  check_fingerprint(path, fingerprint, records.blocks());
  if (table.activate) {
    const int32_t code = table.activate(instance, status.get());
    if (code != 0) throw status.error(code, str_cat("plugin '", name, "' failed to activate"));
  }
  active = true;
  kernels = count_kernels(records.blocks());
  registration = Dispatcher::global().register_blocks(records.blocks(), Origin{name, generation});
}

// None without the extension.
Records Plugin::State::kernel_records(StatusRoom& status) const {
  const opyard_block* first = nullptr;
  uint64_t count = 0;
  const void* offered =
      table.get_extension ? table.get_extension(instance, as_str("opyard.kernels"), 1) : nullptr;
  if (!offered) return Records(first, count);
  const auto extension = take<opyard_kernels_ext>(offered, OPYARD_KERNELS_EXT_SIZE_1_0,
                                                  "the extension opyard.kernels");
  OPYARD_CHECK(extension.blocks, kInvalidArgument, "plugin '", name,
               "': its extension opyard.kernels has no function 'blocks'");
  const int32_t code = extension.blocks(instance, &first, &count, status.get());
  if (code != 0) throw status.error(code, str_cat("plugin '", name, "' gave no kernels"));
  return Records(first, count);
}

// One step of the end; false when the plugin says that it is not over.
bool Plugin::State::settle(int32_t (*step)(void*, uint64_t, opyard_status*),
                           std::string_view what) const {
  if (!step || !active) return true;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  StatusRoom status;
  const int32_t code =
      step(instance, static_cast<uint64_t>(deadline.time_since_epoch().count()), status.get());
  if (code == 0) return true;
  const Error error = status.error(code, str_cat("plugin '", name, "' failed to ", what));
  log(LogLevel::kError, str_cat(error.message(), "; it is left as it is, without fini"));
  return false;
}

// Waits until no call can reach the plugin; false when that cannot be had.
bool Plugin::State::await_grace() const {
  try {
    Dispatcher::global().synchronize();
    return true;
  } catch (...) {
    const Error error = current_error();
    log(LogLevel::kError, "a plugin is left as it is, without fini: calls may still reach it");
    log(LogLevel::kError, error.message());
    return false;
  }
}

// The end of a plugin that is not registered any more. Waits for the calls that are still inside,
// unless their grace period is over.
void Plugin::State::finish(bool grace_is_over) {
  if (!initialised || !settle(table.quiesce, "quiesce")) return;
  if (!grace_is_over && !await_grace()) return;
  if (settle(table.drain, "drain") && table.fini) table.fini(instance);
}

Plugin::Plugin(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Plugin::Plugin(Plugin&&) noexcept = default;
Plugin::~Plugin() {
  if (!state_) return;
  const bool unreachable = state_->registration.withdraw();
  if (!is_pinned()) {
    state_->finish(false);
    return;
  }
  if (!unreachable) {
    state_.release();  // out of memory: the log has said so; it stays
    return;
  }
  // Within a call, which may be one of its own: it ends when that is over.
  epoch::retire(state_.release(), [](void* pointer) {
    const std::unique_ptr<State> state(static_cast<State*>(pointer));
    state->finish(true);
  });
}

const std::string& Plugin::name() const noexcept { return state_->name; }
const std::string& Plugin::version() const noexcept { return state_->version; }
const std::string& Plugin::path() const noexcept { return state_->path; }
uint64_t Plugin::generation() const noexcept { return state_->generation; }
size_t Plugin::kernel_count() const noexcept { return state_->kernels; }

Plugin load(const std::string& path) {
  OPYARD_CHECK(!is_pinned(), kFailedPrecondition, "the plugin '", path,
               "' cannot be loaded from within an operator call; load it before or after");
  OPYARD_CHECK(access(path.c_str(), R_OK) == 0, kNotFound, "there is no readable plugin file '",
               path, "'");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    raise(Code::kFailedPrecondition,
          str_cat("'", path, "' cannot be loaded: ", reason ? reason : "no reason given"));
  }
  const opyard_plugin_handshake answer = shake_hands(path, library);
  auto state = std::make_unique<Plugin::State>();
  state->path = path;
  state->name = take_text(answer.name, kLongestName, "the plugin's name");
  OPYARD_CHECK(state->name != Origin().plugin, kInvalidArgument, "'", path, "' calls itself '",
               state->name, "'; that is the library's own name");
  state->version = take_text(answer.version, kLongestName, "the plugin's version");
  state->fingerprint = take_text(answer.fingerprint, kLongestName, "the plugin's fingerprint");
  state->generation = next_generation();
  state->table = take<opyard_plugin_table>(answer.table, OPYARD_PLUGIN_TABLE_SIZE_1_0,
                                           str_cat("the table of the plugin '", path, "'"));
  Plugin plugin(std::move(state));
  plugin.state_->start();  // whatever has begun when it raises is ended by the destructor
  return plugin;
}

}  // namespace opyard::plugin
