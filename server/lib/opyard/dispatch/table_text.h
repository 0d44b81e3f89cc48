#pragma once

#include <string>
#include <vector>

#include "opyard/dispatch/explain.h"

namespace opyard {

// Slots that hold the same kernel for the same reason.
struct TableGroup {
  std::vector<DispatchKey> keys;  // in the table's order
  TableRow row;                   // of the first of them
};

// The rows of Dispatcher::table() with equal ones together: the operator's own kernels first, then
// fallbacks, what falls through, and what is missing.
std::vector<TableGroup> fold(const std::vector<TableRow>& rows);

// The groups in columns of at most `width` characters a line (0: nothing is wrapped; less than 40
// counts as 40).
std::string table_text(const std::vector<TableGroup>& groups, size_t width);

// The same with a line for every slot.
std::string table_text(const std::vector<TableRow>& rows, size_t width);

// "kernel", "fallback", "pass-down", "fallthrough", "ambiguous", "raises", "missing"
std::string_view kind_of(const TableRow& row) noexcept;

}  // namespace opyard
