#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/base/fingerprint.h"
#include "opyard/dispatch/library.h"
#include "plugins/sdk/plugin_options.h"

// Makes a plugin of a shared object whose kernels stand in OPYARD_LIBRARY* blocks. Once, at
// namespace scope:
//
//   OPYARD_PLUGIN("axpby", "1.0.0");
//   OPYARD_PLUGIN("axpby", "1.0.0", .start = &start, .claims = "CPU");
//
// What follows the version are fields of PluginOptions, in their order. It emits the file's note
// and the one exported function. Exceptions of hooks and blocks reach the host as its status.
// Everything here is hidden in the plugin that includes it.
namespace opyard::sdk {
inline namespace abi_1 {
#pragma GCC visibility push(hidden)

struct PluginFacts {
  std::string_view name;
  std::string_view version;
  PluginOptions options;
  LibraryRange (*blocks)();
};

inline opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

// What lives from init to fini: the blocks' records, and the array that the host reads.
struct Instance {
  const PluginFacts* facts;
  const opyard_host* host;
  std::vector<Library> libraries;
  std::vector<opyard_block> blocks;
};

// Runs `body`; an exception becomes the status and its code.
template <typename F>
int32_t guarded(const opyard_host* host, opyard_status* status, F&& body) noexcept {
  try {
    body();
    return static_cast<int32_t>(Code::kOk);
  } catch (...) {
    const Error error = current_error();
    const auto code = static_cast<int32_t>(error.code());
    if (host->set_status && status) host->set_status(status, code, as_str(error.message()));
    return code;
  }
}

inline int32_t init(const PluginFacts& facts, const opyard_host* host, void** instance,
                    opyard_status* status) noexcept {
  if (!host || host->struct_size < OPYARD_HOST_SIZE_1_0 || !instance) {
    return static_cast<int32_t>(Code::kInvalidArgument);
  }
  return guarded(host, status, [&] {
    std::unique_ptr<Instance> made(new Instance{&facts, host, {}, {}});
    if (facts.options.start) facts.options.start(*host);
    try {
      made->libraries = run_blocks(facts.blocks());
      for (const Library& library : made->libraries) made->blocks.push_back(library.block());
    } catch (...) {  // a failed init leaves nothing behind
      if (facts.options.stop) facts.options.stop();
      throw;
    }
    *instance = made.release();
  });
}

inline int32_t quiesce(void* instance, uint64_t deadline_ns, opyard_status* status) noexcept {
  const auto& made = *static_cast<const Instance*>(instance);
  const auto hook = made.facts->options.quiesce;
  return guarded(made.host, status, [&] {
    if (hook) hook(deadline_ns);
  });
}

inline int32_t drain(void* instance, uint64_t deadline_ns, opyard_status* status) noexcept {
  const auto& made = *static_cast<const Instance*>(instance);
  const auto hook = made.facts->options.drain;
  return guarded(made.host, status, [&] {
    if (hook) hook(deadline_ns);
  });
}

inline void fini(void* instance) noexcept {
  const std::unique_ptr<Instance> made(static_cast<Instance*>(instance));
  if (made->facts->options.stop) made->facts->options.stop();
}

inline int32_t give_blocks(void* instance, const opyard_block** blocks, uint64_t* count,
                           opyard_status*) noexcept {
  const auto* made = static_cast<const Instance*>(instance);
  *blocks = made->blocks.data();
  *count = made->blocks.size();
  return static_cast<int32_t>(Code::kOk);
}

inline const void* extension(void* instance, opyard_str id, uint32_t min_version,
                             const opyard_kernels_ext& kernels) noexcept {
  const std::string_view asked(id.data, id.size);
  if (asked == "opyard.kernels") return min_version <= 1 ? &kernels : nullptr;
  const auto& made = *static_cast<const Instance*>(instance);
  const auto more = made.facts->options.extension;
  return more ? more(asked, min_version) : nullptr;
}

// Chooses the highest version that both sides know; a newer one only appends, so hosts of later
// versions are fine. The build's fingerprint tells the host whether it may call typed kernels.
inline int32_t shake_hands(const PluginFacts& facts, const opyard_plugin_table* table,
                           const opyard_host_handshake* host,
                           opyard_plugin_handshake* plugin) noexcept {
  if (host->struct_size < OPYARD_HOST_HANDSHAKE_SIZE_1_0 ||
      plugin->struct_size < OPYARD_PLUGIN_HANDSHAKE_SIZE_1_0) {
    return static_cast<int32_t>(Code::kInvalidArgument);
  }
  plugin->name = as_str(facts.name);
  plugin->version = as_str(facts.version);
  plugin->fingerprint = as_str(OPYARD_BUILD_FINGERPRINT);
  if (host->abi_min > OPYARD_ABI_VERSION || host->abi_max < OPYARD_ABI_OLDEST) {
    plugin->message = as_str(
        "this plugin speaks the versions " OPYARD_TEXT(OPYARD_ABI_MAJOR) ".0 to " OPYARD_TEXT(
            OPYARD_ABI_MAJOR) "." OPYARD_TEXT(OPYARD_ABI_MINOR) " of the plugin interface");
    return static_cast<int32_t>(Code::kFailedPrecondition);
  }
  // What lies behind this header crosses as C++ types, from the first call on.
  if (std::string_view(host->fingerprint.data, host->fingerprint.size) !=
      OPYARD_BUILD_FINGERPRINT) {
    plugin->message = as_str(
        "it was built against other headers, with another compiler or with other flags "
        "(" OPYARD_BUILD_FINGERPRINT "); build it anew");
    return static_cast<int32_t>(Code::kFailedPrecondition);
  }
  plugin->abi = std::min(host->abi_max, OPYARD_ABI_VERSION);
  plugin->table = table;
  return static_cast<int32_t>(Code::kOk);
}

#pragma GCC visibility pop
}  // namespace abi_1
}  // namespace opyard::sdk

#define OPYARD_PLUGIN(name, version, ...)                                             \
  OPYARD_BLOCKS_HERE()                                                                \
  static constexpr ::opyard::sdk::PluginFacts opyard_plugin_facts{                    \
      name, version, ::opyard::sdk::PluginOptions{__VA_ARGS__}, &opyard_blocks_here}; \
  OPYARD_NOTE_ATTRIBUTES static constexpr opyard_note_section opyard_note_here =      \
      ::opyard::sdk::note_of(name, version, opyard_plugin_facts.options,              \
                             OPYARD_BUILD_FINGERPRINT);                               \
  static int32_t opyard_plugin_init(const opyard_host* host, void** instance,         \
                                    opyard_status* status) {                          \
    return ::opyard::sdk::init(opyard_plugin_facts, host, instance, status);          \
  }                                                                                   \
  static const void* opyard_plugin_extension(void* instance, opyard_str id,           \
                                             uint32_t min_version) {                  \
    static constexpr opyard_kernels_ext kKernels{sizeof(opyard_kernels_ext), 0,       \
                                                 &::opyard::sdk::give_blocks};        \
    return ::opyard::sdk::extension(instance, id, min_version, kKernels);             \
  }                                                                                   \
  extern "C" __attribute__((visibility("default"))) int32_t opyard_plugin_entry(      \
      const opyard_host_handshake* host, opyard_plugin_handshake* plugin) {           \
    static constexpr opyard_plugin_table kTable{                                      \
        sizeof(opyard_plugin_table), 0,                                               \
        &opyard_plugin_init,         nullptr,                                         \
        &::opyard::sdk::quiesce,     &::opyard::sdk::drain,                           \
        &::opyard::sdk::fini,        &opyard_plugin_extension};                       \
    return ::opyard::sdk::shake_hands(opyard_plugin_facts, &kTable, host, plugin);    \
  }                                                                                   \
  static_assert(true, "takes the semicolon")
