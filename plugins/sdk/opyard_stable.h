#pragma once

#include "plugins/sdk/plugin_options.h"
#include "plugins/sdk/stable/library.h"
#include "plugins/sdk/stable/work.h"

// C++ over the C interface alone: a plugin that is built once and runs on every host of it,
// whatever compiler and headers that was built with. Kernels are plain functions on
// opyard::stable::Tensor and the types of stable/values.h; they are always called boxed. The
// spelling is that of opyard_sdk.h:
//
//   opyard::stable::Tensor scale(const opyard::stable::Tensor& x, double by);
//   OPYARD_LIBRARY(mine, m) { m.def("scale(Tensor x, float by) -> Tensor"); }
//   OPYARD_LIBRARY_IMPL(mine, CPU, m) { m.impl("scale", OPYARD_FN(scale)); }
//   OPYARD_STABLE_PLUGIN("mine", "1.0.0");                       // once, at namespace scope
//   OPYARD_STABLE_PLUGIN("mine", "1.0.0", .start = &start, .claims = "CPU");
//
// What follows the version are fields of PluginOptions, in their order.
OPYARD_STABLE_BEGIN

using PluginOptions = sdk::PluginOptions;

struct PluginFacts {
  std::string_view name;
  std::string_view version;
  PluginOptions options;
  const LibraryRecord* begin;
  const LibraryRecord* end;
};

// What lives from init to fini.
struct Instance {
  const PluginFacts* facts;
  std::vector<Library> libraries;
  std::vector<opyard_block> blocks;
};

// The note's needs: what this layer cannot do without, and what the author adds.
struct Needs {
  char text[128] = {};
};
constexpr Needs needs_of(std::string_view more) {
  Needs needs;
  size_t at = 0;
  for (const char c : std::string_view("opyard.tensors/1")) needs.text[at++] = c;
  if (!more.empty()) needs.text[at++] = ',';
  for (const char c : more) needs.text[at++] = c;  // does not compile when it is too long
  return needs;
}

inline std::unique_ptr<Instance> make_instance(const PluginFacts& facts) {
  std::unique_ptr<Instance> made(new Instance{&facts, {}, {}});
  for (const LibraryRecord* record = facts.begin; record != facts.end; ++record) {
    if (!record->fill) continue;
    Library& library = made->libraries.emplace_back(record->kind, record->name_space, record->key,
                                                    record->file, record->line);
    record->fill(library);
  }
  for (const Library& library : made->libraries) made->blocks.push_back(library.block());
  return made;
}

template <typename T>
const T* extension_of(const opyard_host* host, std::string_view id) {
  return static_cast<const T*>(host->get_extension(host, as_str(id), 1));
}

inline int32_t init(const PluginFacts& facts, const opyard_host* host, void** instance,
                    opyard_status* status) noexcept {
  if (!host || host->struct_size < OPYARD_HOST_SIZE_1_0 || !instance) {
    return static_cast<int32_t>(Code::kInvalidArgument);
  }
  return guarded(host, status, [&] {
    the_host = {host, extension_of<opyard_tensors>(host, "opyard.tensors"),
                extension_of<opyard_calls>(host, "opyard.calls"),
                extension_of<opyard_threads>(host, "opyard.threads")};
    require(the_host.tensors != nullptr, Code::kFailedPrecondition,
            "this host offers no extension opyard.tensors");
    if (facts.options.start) facts.options.start(*host);
    try {
      *instance = make_instance(facts).release();
    } catch (...) {  // a failed init leaves nothing behind
      if (facts.options.stop) facts.options.stop();
      throw;
    }
  });
}

inline const PluginOptions& options_of(void* instance) {
  return static_cast<const Instance*>(instance)->facts->options;
}
inline int32_t quiesce(void* instance, uint64_t deadline_ns, opyard_status* status) noexcept {
  return guarded(the_host.host, status, [&] {
    if (const auto hook = options_of(instance).quiesce) hook(deadline_ns);
  });
}
inline int32_t drain(void* instance, uint64_t deadline_ns, opyard_status* status) noexcept {
  return guarded(the_host.host, status, [&] {
    if (const auto hook = options_of(instance).drain) hook(deadline_ns);
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
  return 0;
}
inline const void* extension(void* instance, opyard_str id, uint32_t min_version,
                             const opyard_kernels_ext& kernels) noexcept {
  const std::string_view asked(id.data, id.size);
  if (asked == "opyard.kernels") return min_version <= 1 ? &kernels : nullptr;
  const auto more = options_of(instance).extension;
  return more ? more(asked, min_version) : nullptr;
}

OPYARD_STABLE_END

// Defines what the header only declares, emits the file's note, and the one exported function. The
// empty record makes sure that the section exists.
#define OPYARD_STABLE_PLUGIN(name, version, ...)                                              \
  constinit ::opyard::stable::Host opyard::stable::the_host{};                                \
  extern "C" __attribute__((                                                                  \
      visibility("hidden"))) ::opyard::stable::LibraryRecord __start_opyard_library[];        \
  extern "C" __attribute__((                                                                  \
      visibility("hidden"))) ::opyard::stable::LibraryRecord __stop_opyard_library[];         \
  [[gnu::used, gnu::retain, gnu::section("opyard_library"),                                   \
    gnu::aligned(                                                                             \
        alignof(::opyard::stable::LibraryRecord))]] static ::opyard::stable::LibraryRecord    \
      opyard_empty_record = {nullptr, "", "", __FILE__, __LINE__, 0};                         \
  static constexpr ::opyard::stable::PluginOptions opyard_plugin_options{__VA_ARGS__};        \
  static constexpr ::opyard::stable::Needs opyard_plugin_needs =                              \
      ::opyard::stable::needs_of(opyard_plugin_options.needs);                                \
  OPYARD_NOTE_ATTRIBUTES static constexpr opyard_note_section opyard_note_here = [] {         \
    ::opyard::stable::PluginOptions noted = opyard_plugin_options;                            \
    noted.needs = opyard_plugin_needs.text;                                                   \
    return ::opyard::sdk::note_of(name, version, noted, "");                                  \
  }();                                                                                        \
  static int32_t opyard_plugin_init(const opyard_host* host, void** instance,                 \
                                    opyard_status* status) {                                  \
    static const ::opyard::stable::PluginFacts facts{                                         \
        name, version, opyard_plugin_options, __start_opyard_library, __stop_opyard_library}; \
    return ::opyard::stable::init(facts, host, instance, status);                             \
  }                                                                                           \
  static const void* opyard_plugin_extension(void* instance, opyard_str id,                   \
                                             uint32_t min_version) {                          \
    static constexpr opyard_kernels_ext kKernels{sizeof(opyard_kernels_ext), 0,               \
                                                 &::opyard::stable::give_blocks};             \
    return ::opyard::stable::extension(instance, id, min_version, kKernels);                  \
  }                                                                                           \
  extern "C" __attribute__((visibility("default"))) int32_t opyard_plugin_entry(              \
      const opyard_host_handshake* host, opyard_plugin_handshake* plugin) {                   \
    static constexpr opyard_plugin_table kTable{                                              \
        sizeof(opyard_plugin_table), 0,                                                       \
        &opyard_plugin_init,         nullptr,                                                 \
        &::opyard::stable::quiesce,  &::opyard::stable::drain,                                \
        &::opyard::stable::fini,     &opyard_plugin_extension};                               \
    return opyard_shake_hands(host, plugin, &kTable, ::opyard::stable::as_str(name),          \
                              ::opyard::stable::as_str(version));                             \
  }                                                                                           \
  static_assert(true, "takes the semicolon")
