#pragma once

#include <cstdint>
#include <string_view>

#include "opyard_note.h"

// What OPYARD_PLUGIN and OPYARD_STABLE_PLUGIN are told, and the note that they make of it. Hidden
// in the plugin that includes it.
namespace opyard::sdk {
inline namespace abi_1 {
#pragma GCC visibility push(hidden)

struct PluginOptions {
  // [control] Before the kernels are taken; what it began it has undone itself when it raises.
  void (*start)(const opyard_host& host) = nullptr;
  // [control] No call enters any more: end own threads, then wait for work that is under way. Both
  // raise when the deadline (of CLOCK_MONOTONIC) passes first; the plugin is then never unloaded.
  void (*quiesce)(uint64_t deadline_ns) = nullptr;
  void (*drain)(uint64_t deadline_ns) = nullptr;
  // [control] The end of what start began.
  void (*stop)() noexcept = nullptr;
  // [any] Extensions beside opyard.kernels, such as opyard.device; null for unknown ones.
  const void* (*extension)(std::string_view id, uint32_t min_version) noexcept = nullptr;
  // For the note: bits of opyard_plugin_kind; one of opyard_unload_class; dispatch keys and devices
  // ("CPU", "device:toy"), and host extensions that it cannot do without, by commas.
  uint32_t kind = OPYARD_KIND_KERNELS;
  uint32_t unload_class = OPYARD_UNLOADABLE;
  std::string_view claims = {};
  std::string_view needs = {};
};

// Too long a text for the note does not compile: its end is written outside.
template <size_t N>
constexpr void put_text(char (&place)[N], std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) place[i] = text[i];
  place[text.size()] = 0;
}

constexpr opyard_note_section note_of(std::string_view name, std::string_view version,
                                      const PluginOptions& options, std::string_view fingerprint) {
  opyard_note_section made{
      sizeof(OPYARD_NOTE_OWNER), sizeof(opyard_note), OPYARD_NOTE_TYPE, OPYARD_NOTE_OWNER, {}};
  opyard_note& note = made.note;
  note.struct_size = sizeof(opyard_note);
  note.magic = OPYARD_NOTE_MAGIC;
  note.kind = options.kind;
  note.abi_min = OPYARD_ABI_OLDEST;
  note.abi_max = OPYARD_ABI_VERSION;
  note.unload_class = options.unload_class;
  note.isa_level = OPYARD_ISA_LEVEL_HERE;
  note.isa_features = OPYARD_ISA_FEATURES_HERE;
  put_text(note.name, name);
  put_text(note.version, version);
  put_text(note.fingerprint, fingerprint);
  put_text(note.claims, options.claims);
  put_text(note.needs, options.needs);
  return made;
}

#pragma GCC visibility pop
}  // namespace abi_1
}  // namespace opyard::sdk
