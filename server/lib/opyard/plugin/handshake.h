#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/plugin/host_table.h"
#include "opyard/plugin/image.h"
#include "opyard/plugin/note.h"
#include "opyard/plugin/records.h"
#include "opyard/plugin/schemas.h"

namespace opyard::plugin {

// What a mapped plugin says of itself. All of it runs the plugin's functions, on its control
// thread.

// It speaks a version that this host does, says what its note said (by which the file was let in),
// and gives its table, which is copied; `abi` becomes the agreed version, "1.0". Raises
// FAILED_PRECONDITION with the plugin's own words when it refuses; INVALID_ARGUMENT for what cannot
// be read.
opyard_plugin_table shake_hands(const Image& image, const NoteFacts& note, std::string* abi);

// Null for one that it does not have.
const void* extension_of(const opyard_plugin_table& table, void* instance, std::string_view id);

// The operators and kernels that it brings. The blocks point into the rest, and into the plugin.
struct Brought {
  Schemas schemas;
  std::unique_ptr<Records> records;
  std::vector<opyard_block> blocks;
};

// Raises INVALID_ARGUMENT for records that cannot be read, FAILED_PRECONDITION for C++ kernels of
// another build, and what the plugin says.
Brought read_brought(const opyard_plugin_table& table, void* instance, const NoteFacts& note,
                     StatusRoom& status);

// Is it this library's own build, so that its typed kernels may be called?
bool is_same_build(const NoteFacts& note) noexcept;

}  // namespace opyard::plugin
