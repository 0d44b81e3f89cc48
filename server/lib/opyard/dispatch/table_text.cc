#include "opyard/dispatch/table_text.h"

#include <algorithm>
#include <array>

#include "opyard/base/check.h"
#include "opyard/dispatch/key_names.h"

namespace opyard {
namespace {

constexpr size_t kColumns = 4;
constexpr size_t kGap = 2;
constexpr size_t kLeastWidth = 40;

using Cells = std::array<std::string, kColumns>;

bool same_kernel(const TableRow& a, const TableRow& b) {
  return a.kind == b.kind && a.reason == b.reason && a.kernel == b.kernel && a.place == b.place &&
         a.plugin == b.plugin && a.generation == b.generation && a.built_in == b.built_in;
}

int rank(const TableRow& row) {
  switch (row.kind) {
    case KernelKind::kMissing:
    case KernelKind::kGone:
      return 4;
    case KernelKind::kFallthrough:
      return row.is_fallback ? 3 : 0;
    default:
      return row.built_in ? 2 : row.is_fallback ? 1 : 0;
  }
}

std::string without_prefix(const std::string& place) {
  constexpr std::string_view kPrefix = "registered at ";
  return place.starts_with(kPrefix) ? place.substr(kPrefix.size()) : place;
}

std::string kernel_cell(const TableRow& row) {
  if (row.kind == KernelKind::kMissing) return "no kernel";
  if (row.kind == KernelKind::kGone) return "no longer registered";
  const bool bare = row.kernel == row.place || row.place.empty() || row.built_in;
  const std::string place = without_prefix(row.place);
  if (row.kind == KernelKind::kAmbiguous) return "raises: ambiguous";
  if (row.kind == KernelKind::kFallthrough) {
    return bare ? "falls through" : "falls through, " + place;
  }
  return bare ? without_prefix(row.kernel) : row.kernel + ", " + place;
}

std::string source_cell(const TableRow& row) {
  if (rank(row) == 4 || row.kind == KernelKind::kAmbiguous) return "";
  if (row.built_in) return "built in";
  return row.generation ? str_cat(row.plugin, ", generation ", row.generation) : row.plugin;
}

Cells cells_of(const TableGroup& group) {
  const TableRow& row = group.row;
  const bool missing = rank(row) == 4;
  std::string keys;
  for (const std::string& name : folded_key_names(group.keys)) {
    keys += (keys.empty() ? "" : ", ") + name;
  }
  std::string kernel = kernel_cell(row);
  if (group.keys.size() > 3) kernel += str_cat(" (", group.keys.size(), " keys)");
  return {missing && group.keys.size() > 3 ? "all others" : keys, kernel, missing ? "" : row.reason,
          source_cell(row)};
}

// Where to end a line of at most `width` characters: behind a blank, else behind a slash, else
// there.
size_t break_at(std::string_view text, size_t width) {
  if (text.size() <= width) return text.size();
  const size_t blank = text.rfind(' ', width);
  if (blank != text.npos && blank > 0) return blank + 1;
  const size_t slash = text.rfind('/', width - 1);
  return slash != text.npos && slash > 0 ? slash + 1 : width;
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  do {
    const size_t end = break_at(text, width);
    std::string line(text.substr(0, end));
    while (line.ends_with(' ')) line.pop_back();
    lines.push_back(std::move(line));
    text.remove_prefix(end);
  } while (!text.empty());
  return lines;
}

// The columns' widths: as wide as their contents where that fits; else reasons and sources get up
// to a quarter of the line each, and keys and kernels share the rest.
std::array<size_t, kColumns> widths_of(const std::vector<Cells>& lines, size_t width) {
  std::array<size_t, kColumns> widths = {};
  for (const Cells& cells : lines) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  const size_t room = std::max(width, kLeastWidth) - kGap * (kColumns - 1);
  if (width == 0 || widths[0] + widths[1] + widths[2] + widths[3] <= room) return widths;
  widths[2] = std::min(widths[2], room / 4);
  widths[3] = std::min(widths[3], room / 4);
  const size_t rest = room - widths[2] - widths[3];
  const size_t left = rest - std::min(rest, widths[1]);  // by kernels that are short
  widths[0] = std::min(widths[0], std::max(left, rest * 2 / 5));
  widths[1] = std::min(widths[1], rest - widths[0]);
  return widths;
}

std::string in_columns(const std::vector<Cells>& lines, size_t width) {
  const auto widths = widths_of(lines, width);
  std::string text;
  for (const Cells& cells : lines) {
    std::array<std::vector<std::string>, kColumns> parts;
    size_t height = 1;
    for (size_t i = 0; i < kColumns; ++i) {
      parts[i] = wrapped(cells[i], std::max<size_t>(widths[i], 1));
      height = std::max(height, parts[i].size());
    }
    for (size_t row = 0; row < height; ++row) {
      std::string line;
      for (size_t i = 0; i < kColumns; ++i) {
        const std::string part = row < parts[i].size() ? parts[i][row] : "";
        line += part + std::string(widths[i] - std::min(widths[i], part.size()) + kGap, ' ');
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  return text;
}

}  // namespace

std::vector<TableGroup> fold(const std::vector<TableRow>& rows) {
  std::vector<TableGroup> groups;
  for (const TableRow& row : rows) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const TableGroup& group) {
      return same_kernel(group.row, row);
    });
    if (found != groups.end()) {
      found->keys.push_back(row.key);
    } else {
      groups.push_back({{row.key}, row});
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](const TableGroup& a, const TableGroup& b) {
    return rank(a.row) < rank(b.row);
  });
  return groups;
}

std::string table_text(const std::vector<TableGroup>& groups, size_t width) {
  std::vector<Cells> lines = {{"KEYS", "KERNEL", "REASON", "FROM"}};
  for (const TableGroup& group : groups) lines.push_back(cells_of(group));
  return in_columns(lines, width);
}

std::string table_text(const std::vector<TableRow>& rows, size_t width) {
  std::vector<TableGroup> groups;
  for (const TableRow& row : rows) groups.push_back({{row.key}, row});
  return table_text(groups, width);
}

std::string_view kind_of(const TableRow& row) noexcept {
  switch (row.kind) {
    case KernelKind::kFallthrough:
      return "fallthrough";
    case KernelKind::kPassDown:
      return "pass-down";
    case KernelKind::kMissing:
    case KernelKind::kGone:
      return "missing";
    case KernelKind::kAmbiguous:
      return "ambiguous";
    case KernelKind::kOrdinary:
      break;
  }
  return row.raises ? "raises" : row.is_fallback ? "fallback" : "kernel";
}

}  // namespace opyard
