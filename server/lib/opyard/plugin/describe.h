#pragma once

#include <map>
#include <string>
#include <vector>

#include "opyard/base/array_ref.h"
#include "opyard/plugin/host.h"
#include "opyard/plugin/note.h"
#include "opyard_plugin.h"

namespace opyard::plugin {

// What a build of a plugin brings, apart from its code: compared before it takes another's place.
struct Description {
  std::string name;
  std::string version;
  std::string fingerprint;
  std::map<std::string, std::string> flags;    // of its note: "isa" → "x86-64-v3", …
  std::map<std::string, std::string> schemas;  // operator → what follows its name
  struct Kernel {
    bool typed = false;
    bool fallthrough = false;
    std::string why_boxed;
  };
  // "aten::add.Tensor at CPU"; fallbacks are "_ at CPU".
  std::map<std::string, Kernel> kernels;
};

// What a note says; schemas and kernels are left empty.
Description describe_note(const NoteFacts& note);

// Fills schemas and kernels from blocks in records of this host's size. `same_build`: its typed
// kernels may be used. A schema that cannot be read is left to the registry, which refuses it.
void describe_blocks(ArrayRef<opyard_block> blocks, bool same_build, Description* description);

std::vector<Difference> compare(const Description& before, const Description& after);

// Raises FAILED_PRECONDITION naming what `options` do not allow of the differences, and which of
// them would.
void check_allowed(std::string_view slot, const std::vector<Difference>& differences,
                   const ChangeOptions& options);
// What goes: kOperatorLost and kKernelLost.
std::vector<std::string> losses(const std::vector<Difference>& differences);

// As JSON, for what another process says of a file. from_json raises INVALID_ARGUMENT.
std::string to_json(const Description& description);
Description description_from_json(std::string_view text);

}  // namespace opyard::plugin
