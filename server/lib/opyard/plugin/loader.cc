#include "opyard/plugin/loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "opyard/base/check.h"
#include "opyard/base/fingerprint.h"
#include "opyard/plugin/host_table.h"

namespace opyard::plugin {
namespace {

constexpr std::string_view kFingerprint = OPYARD_BUILD_FINGERPRINT;

opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

std::string to_std(opyard_str text) {
  return text.size ? std::string(text.data, text.size) : std::string();
}

uint64_t next_generation() {
  static std::atomic<uint64_t> generation{0};
  return ++generation;
}

opyard_plugin_handshake shake_hands(const std::string& path, void* library) {
  auto entry = reinterpret_cast<opyard_plugin_entry_fn>(dlsym(library, "opyard_plugin_entry"));
  OPYARD_CHECK(entry != nullptr, kFailedPrecondition, "'", path,
               "' is no plugin: it does not export opyard_plugin_entry");
  const opyard_host_handshake host{sizeof(host), 0, OPYARD_ABI_VERSION, OPYARD_ABI_VERSION,
                                   as_str(kFingerprint)};
  opyard_plugin_handshake answer{};
  answer.struct_size = sizeof(answer);
  const int32_t code = entry(&host, &answer);
  OPYARD_CHECK(code == 0, kFailedPrecondition, "'", path, "' refuses this host (ABI ",
               OPYARD_ABI_MAJOR, ".", OPYARD_ABI_MINOR, "): ", to_std(answer.message));
  OPYARD_CHECK(answer.abi == OPYARD_ABI_VERSION, kFailedPrecondition, "'", path,
               "' chose the ABI version ", answer.abi >> 16, ".", answer.abi & 0xffff,
               ", this host offers ", OPYARD_ABI_MAJOR, ".", OPYARD_ABI_MINOR);
  OPYARD_CHECK(answer.table && answer.table->get_extension, kFailedPrecondition, "'", path,
               "' gives no plugin table");
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
  uint64_t generation = 0;
  size_t kernels = 0;
  const opyard_plugin_table* table = nullptr;
  void* instance = nullptr;
  bool initialised = false;
  Registration registration;

  ~State() {
    registration.reset();
    if (!initialised) return;
    epoch::synchronize();  // no call is inside any more
    if (table->fini) table->fini(instance);
  }

  void start() {
    StatusRoom status;
    if (table->init) {
      const int32_t code = table->init(&host_table(), &instance, status.get());
      if (code != 0) throw status.error(code, str_cat("plugin '", name, "' failed to start"));
    }
    initialised = true;
    const auto* kernels_ext = static_cast<const opyard_kernels_ext*>(
        table->get_extension(instance, as_str("opyard.kernels"), 1));
    if (!kernels_ext) return;
    const opyard_block* first = nullptr;
    uint64_t count = 0;
    const int32_t code = kernels_ext->blocks(instance, &first, &count, status.get());
    if (code != 0) throw status.error(code, str_cat("plugin '", name, "' gave no kernels"));
    const ArrayRef<opyard_block> blocks(first, count);
    check_fingerprint(path, fingerprint, blocks);
    kernels = count_kernels(blocks);
    registration = Dispatcher::global().register_blocks(blocks, Origin{name, generation});
    if (table->activate) table->activate(instance, status.get());
  }

  std::string fingerprint;
};

Plugin::Plugin(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Plugin::Plugin(Plugin&&) noexcept = default;
Plugin::~Plugin() = default;
const std::string& Plugin::name() const noexcept { return state_->name; }
const std::string& Plugin::version() const noexcept { return state_->version; }
const std::string& Plugin::path() const noexcept { return state_->path; }
uint64_t Plugin::generation() const noexcept { return state_->generation; }
size_t Plugin::kernel_count() const noexcept { return state_->kernels; }

Plugin load(const std::string& path) {
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
  state->name = to_std(answer.name);
  state->version = to_std(answer.version);
  state->fingerprint = to_std(answer.fingerprint);
  state->generation = next_generation();
  state->table = answer.table;
  state->start();
  return Plugin(std::move(state));
}

}  // namespace opyard::plugin
