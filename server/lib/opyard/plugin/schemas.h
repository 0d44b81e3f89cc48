#pragma once

#include <deque>
#include <string>
#include <vector>

#include "opyard/base/array_ref.h"
#include "opyard_schemas.h"

namespace opyard::plugin {

// The operators that a plugin defines by its extension opyard.schemas, as blocks for the
// dispatcher. Every text is the host's own, so they outlive the plugin.
class Schemas {
 public:
  Schemas() = default;
  // Reads `extension`, what the plugin's get_extension gave. Raises INVALID_ARGUMENT for records
  // that cannot be read, and for a definition without namespace or schema; the words of the schema
  // are checked when the blocks are registered.
  explicit Schemas(const void* extension);
  Schemas(Schemas&&) = default;
  Schemas& operator=(Schemas&&) = default;

  // One for each namespace, in the order of the plugin.
  ArrayRef<opyard_block> blocks() const noexcept { return blocks_; }

  // What is for people, of the definitions that say any of it.
  struct Notes {
    std::string op;  // "axpby::axpby"
    std::string preconditions;
    std::string doc;
  };
  const std::vector<Notes>& notes() const noexcept { return notes_; }

 private:
  opyard_str keep(opyard_str text, uint32_t most, const char* what);
  void add(const opyard_schema& schema);
  void note(const opyard_schema& schema);

  std::deque<std::string> texts_;
  std::deque<std::vector<opyard_registration>> definitions_;
  std::vector<opyard_block> blocks_;
  std::vector<Notes> notes_;
};

}  // namespace opyard::plugin
