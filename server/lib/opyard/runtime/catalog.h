#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/dispatch/explain.h"
#include "opyard/dispatch/schema.h"
#include "opyard/dispatch/table_text.h"
#include "opyard/runtime/frame.h"

// What can be called and how it would be routed, for people and for clients. Reads the global
// dispatcher; any thread.

namespace opyard::runtime {

class Session;

struct OpPage {
  std::vector<FunctionSchema> schemas;
  std::string next;  // continue after this name; empty: the last page
  uint32_t total = 0;
};

inline constexpr uint32_t kMaxOpsPerPage = 1000;

// Operators whose full name starts with `prefix`, in the order of their names, those after `after`
// only.
OpPage list_operators(std::string_view prefix, uint32_t page_size, std::string_view after);

// One overload by its full name, or all overloads of a bare one. CallError NOT_FOUND names the
// nearest.
std::vector<FunctionSchema> schemas_of(std::string_view name);

// False for the internal operators of structured groups ("kernel::add.Tensor"): their kernels rely
// on the checks of the public operator's wrapper, so a frame may not call them.
bool is_public_operator(std::string_view name) noexcept;

// NOT_FOUND for a name that no operator has: says the nearest ones, or the overloads of a bare
// name. Looking for those takes milliseconds; without `look` the message does without.
[[noreturn]] void raise_unknown_operator(std::string_view name, bool look = true);

// How a call would be routed. With `session`, the keys are those of the call's operands (run it as
// a task of the session); without, those of `keys`. Here and in dump_table() a bare name stands for
// its only overload; NOT_FOUND names them where there are several.
Explanation explain_call(const OpCall& call, const std::vector<std::string>& keys,
                         const std::vector<std::string>& include,
                         const std::vector<std::string>& exclude, Session* session);

enum class TableKind : uint8_t { kComputed, kRegistrations, kFolded, kSlots };

struct Table {
  std::string op;
  std::string text;
  std::vector<TableGroup> rows;
};

// The table of one overload; `width` is that of the lines for people (see table_text).
Table dump_table(std::string_view name, TableKind kind, size_t width = 0);

struct CheckedTables {
  uint32_t operators = 0;
  std::string text;
};

// Raises INTERNAL when a stored table is not what its registrations resolve to.
CheckedTables check_tables();

// The devices that plugins brought kernels for: "cpu", …
std::vector<std::string> devices_with_kernels();

}  // namespace opyard::runtime
