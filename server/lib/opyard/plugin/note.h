#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "opyard/plugin/elf_file.h"
#include "opyard/plugin/isa.h"
#include "opyard_plugin.h"

namespace opyard::plugin {

// What a note says, after it was checked.
struct NoteFacts {
  uint32_t kind = 0;  // bits of opyard_plugin_kind
  uint32_t abi_min = 0;
  uint32_t abi_max = 0;
  uint32_t unload_class = 0;  // one of opyard_unload_class
  Isa isa;                    // what it needs
  std::string name;
  std::string version;
  std::string fingerprint;
  std::vector<std::string> claims;  // "CPU", "device:toy"
  std::vector<std::string> needs;   // "opyard.tensors/1"
};

// What a plugin may ask of its host.
struct HostOffers {
  uint32_t abi_min = OPYARD_ABI_OLDEST;
  uint32_t abi_max = OPYARD_ABI_VERSION;
  Isa isa = machine_isa();
  // The host's extensions with their newest versions, "opyard.tensors/1". Unset: whoever asks does
  // not know them, and needs are checked for their form only.
  std::optional<std::vector<std::string>> extensions;
};

// "1.0"
std::string abi_text(uint32_t version);

// The one note of a plugin. Raises FAILED_PRECONDITION, saying what was found and what is wanted,
// when there is none or more than one, when it is not sound, or when the host cannot serve it.
NoteFacts read_note(const ElfFile& file, const HostOffers& host);

}  // namespace opyard::plugin
