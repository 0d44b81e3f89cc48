#include "client/cli/plugin_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::PluginGeneration;
using client::PluginList;
using client::PluginSlot;
using Row = std::vector<std::string>;

constexpr size_t kIndent = 4;      // of what stands below a generation
constexpr size_t kNarrowest = 40;  // lines are never wrapped tighter
constexpr size_t kShownOps = 10;

// Characters, where bytes are UTF-8: none that we print is wider than one column.
size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string padded(std::string text, size_t columns, bool right = false) {
  const size_t have = columns_of(text);
  if (have >= columns) return text;
  return right ? std::string(columns - have, ' ') + text : text + std::string(columns - have, ' ');
}

std::string with_thousands(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string number(double value, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof(text), value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

std::string duration(uint64_t nanoseconds) {
  const auto ns = static_cast<double>(nanoseconds);
  if (ns < 1e6) return number(ns / 1e3, "µs");
  if (ns < 1e9) return number(ns / 1e6, "ms");
  return number(ns / 1e9, "s");
}

// A time that a person compares with a clock.
std::string age(uint64_t milliseconds) {
  const uint64_t seconds = milliseconds / 1000;
  if (seconds < 120) return str_cat(seconds, " s");
  if (seconds < 2 * 3600) return str_cat(seconds / 60, " min");
  if (seconds < 48 * 3600) return str_cat(seconds / 3600, " h");
  return str_cat(seconds / 86400, " d");
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return str_cat(bytes, " bytes");
  const auto size = static_cast<double>(bytes);
  if (bytes < (1u << 20)) return number(size / 1024, "KiB");
  if (bytes < (1u << 30)) return number(size / (1u << 20), "MiB");
  return number(size / (1u << 30), "GiB");
}

std::string joined(const std::vector<std::string>& texts, size_t most = ~size_t{0}) {
  std::string out;
  for (size_t i = 0; i < std::min(texts.size(), most); ++i) {
    out += (i == 0 ? "" : ", ") + texts[i];
  }
  if (texts.size() > most) out += str_cat(", and ", texts.size() - most, " more");
  return out;
}

// The name by which commands know the file.
std::string name_of(const std::string& file) {
  constexpr std::string_view kPrefix = "libopyard_plugin_";
  constexpr std::string_view kSuffix = ".so";
  const bool fits = file.starts_with(kPrefix) && file.ends_with(kSuffix) &&
                    file.size() > kPrefix.size() + kSuffix.size();
  return fits ? file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()) : file;
}

std::string both(uint64_t typed, uint64_t boxed) {
  if (typed == 0 && boxed == 0) return "-";
  std::string text;
  if (typed > 0) text = with_thousands(typed) + " typed";
  if (boxed > 0) text += (text.empty() ? "" : " + ") + with_thousands(boxed) + " boxed";
  return text;
}

std::string leases_of(const PluginGeneration& one) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : one.leases) parts.push_back(with_thousands(count) + " " + kind);
  return parts.empty() ? "-" : joined(parts);
}

bool is_over(const PluginGeneration& one) { return one.state == "closed" || one.state == "failed"; }

// Columns in the order in which they stand; `rank` says which goes first when there is no room.
struct Column {
  const char* title;
  bool right;
  int rank;
};
constexpr std::array<Column, 10> kColumns = {{{"SLOT", false, 0},
                                              {"GEN", true, 0},
                                              {"STATE", false, 0},
                                              {"AGE", true, 0},
                                              {"KERNELS", false, 1},
                                              {"HITS", false, 0},
                                              {"LEASES", false, 0},
                                              {"NAME", false, 0},
                                              {"VERSION", false, 3},
                                              {"HASH", false, 4}}};

// `counted`: no hits mean that there were none.
Row row_of(const PluginSlot& slot, const PluginGeneration& one, bool first, bool counted) {
  const bool none = counted && one.hits_typed == 0 && one.hits_boxed == 0;
  return {first ? slot.name : "",
          std::to_string(one.number),
          one.state,
          age(one.age_ms),
          both(one.typed_kernels, one.boxed_kernels),
          none ? "0" : both(one.hits_typed, one.hits_boxed),
          leases_of(one),
          name_of(one.file),
          one.version,
          one.hash.substr(0, 16)};
}

// Words of `text` in lines of at most `width` columns, the later ones indented by `indent`.
std::string wrapped(const std::string& text, size_t indent, uint32_t width) {
  const size_t most = width == 0 ? ~size_t{0} : std::max<size_t>(width, kNarrowest);
  const std::string margin(indent, ' ');
  std::string out = margin;
  size_t column = indent;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const size_t size = columns_of(word);
    if (column > indent && column + 1 + size > most) {
      out += "\n" + margin + "  ";
      column = indent + 2;
    } else if (begin > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += size;
    begin = end + 1;
  }
  return out + "\n";
}

constexpr std::string_view kWarning = "warning: ";

// One line of at most `width` columns; the whole text in more of them is for those who ask.
std::string cut(const std::string& text, size_t indent, uint32_t width) {
  const size_t most = width == 0 ? ~size_t{0} : std::max<size_t>(width, kNarrowest);
  if (indent + columns_of(text) <= most) return std::string(indent, ' ') + text + "\n";
  size_t end = 0;
  for (size_t columns = indent + 1; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && ++columns > most) break;
  }
  return std::string(indent, ' ') + text.substr(0, end) + "…\n";
}

// What may be the same for all builds of a plugin.
std::vector<std::string> traits(const PluginGeneration& one) {
  std::vector<std::string> out;
  for (const auto& [why, count] : one.why_boxed) out.push_back(str_cat(count, " boxed: ", why));
  if (!one.pinned_dependencies.empty()) {
    out.push_back("pinned dependencies: " + joined(one.pinned_dependencies));
  }
  if (one.probe.starts_with("not")) out.push_back(one.probe);
  for (const std::string& warning : one.warnings) out.push_back(str_cat(kWarning, warning));
  return out;
}

// Why a generation is still there, and what happens in it.
std::vector<std::string> remarks(const PluginSlot& slot, const PluginGeneration& one) {
  std::vector<std::string> out;
  if (!one.why_not_unloaded.empty() && one.state != "active" && one.state != "warm") {
    out.push_back("not unloaded: " + one.why_not_unloaded);
  }
  for (const client::PluginPin& pin : one.pins) {
    out.push_back(str_cat("in a call: ", pin.holder, ", thread ", pin.thread_id, ", for ",
                          duration(pin.age_ns)));
  }
  if (one.bytes_held > 0) out.push_back("holds " + bytes_text(one.bytes_held) + " of its device");
  if (!one.last_error.empty()) {
    out.push_back((one.state == "failed" ? "failed: " : "last error: ") + one.last_error);
  }
  if (one.number == slot.active && !slot.device.empty()) {
    out.push_back(str_cat("is the device ", slot.device,
                          slot.backend.empty() ? "" : " (" + slot.backend + ")"));
  }
  std::vector<std::string> fallbacks;
  for (const auto& [op, calls] : one.fallbacks) {
    fallbacks.push_back(str_cat(op, " (", with_thousands(calls), ")"));
  }
  if (!fallbacks.empty()) {
    out.push_back("computed on the CPU instead: " + joined(fallbacks, kShownOps));
  }
  return out;
}

// Which columns are shown in a table of at most `width` columns, and how wide they are (0: not).
std::array<size_t, kColumns.size()> fit(const std::vector<Row>& rows, uint32_t width) {
  std::array<size_t, kColumns.size()> widths{};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    bool said = false;
    widths[i] = std::string_view(kColumns[i].title).size();
    for (const Row& row : rows) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
      said = said || (!row[i].empty() && row[i] != "-");
    }
    if (!said) widths[i] = 0;  // nothing to tell
  }
  for (int rank = 4; rank > 0; --rank) {
    size_t total = 0;
    for (const size_t one : widths) total += one == 0 ? 0 : one + 2;
    if (width == 0 || total <= width + 2) break;
    for (size_t i = 0; i < kColumns.size(); ++i) {
      if (kColumns[i].rank == rank) widths[i] = 0;
    }
  }
  return widths;
}

std::string line_of(const Row& row, const std::array<size_t, kColumns.size()>& widths) {
  std::string line;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    if (widths[i] == 0) continue;
    line += (line.empty() ? "" : "  ") + padded(row[i], widths[i], kColumns[i].right);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string table_of(const PluginList& list, uint32_t width, bool all_text) {
  std::vector<Row> rows;
  for (const PluginSlot& slot : list.slots) {
    for (const PluginGeneration& one : slot.generations) {
      rows.push_back(row_of(slot, one, &one == slot.generations.data(), list.counted_ns > 0));
    }
  }
  const auto widths = fit(rows, width);
  Row titles;
  for (const Column& column : kColumns) titles.emplace_back(column.title);
  std::string out = line_of(titles, widths);
  size_t next = 0;
  for (const PluginSlot& slot : list.slots) {
    std::vector<std::string> said;
    for (const PluginGeneration& one : slot.generations) {
      out += line_of(rows[next++], widths);
      for (const std::string& remark : remarks(slot, one)) out += wrapped(remark, kIndent, width);
      if (is_over(one)) continue;
      std::vector<std::string> all = traits(one);
      if (std::exchange(said, all) == all) continue;  // as of the generation above
      for (const std::string& trait : all) {
        const bool whole = all_text || !trait.starts_with(kWarning);
        out += whole ? wrapped(trait, kIndent, width) : cut(trait, kIndent, width);
      }
    }
  }
  return out;
}

// Takes away generations that are over, and slots without another. How many generations that are.
size_t drop_ended(PluginList* list) {
  size_t dropped = 0;
  for (PluginSlot& slot : list->slots) dropped += std::erase_if(slot.generations, is_over);
  std::erase_if(list->slots, [](const PluginSlot& slot) { return slot.generations.empty(); });
  return dropped;
}

// "allow_loss" as it is typed.
std::string option_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name.starts_with("--") ? name : "--" + name;
}

// What a person may want to do about the generation that was active.
std::string what_next(const client::PluginChange& change) {
  if (change.old_state == "warm") {
    return str_cat(": opyard plugin rollback ", change.slot, " brings it back");
  }
  if (change.old_state == "closed") return " (unmapped, as was checked)";
  const std::string waits =
      str_cat(": opyard plugin list ", change.slot, " shows what it waits for");
  if (change.old_state != "zombie") return waits;
  return waits + "; it stays in memory until that is over, or until opyardd ends" +
         (change.new_generation == 0 ? "; the slot can be loaded again" : "");
}

std::string one_change(const client::PluginChangeUnderWay& change) {
  return str_cat(change.what, " (for ", age(change.age_ms), ")");
}

}  // namespace

void add_hits(const PluginList& counted, PluginList* list) {
  list->counted_ns = counted.counted_ns;
  for (PluginSlot& slot : list->slots) {
    for (PluginGeneration& one : slot.generations) {
      one.hits_typed = one.hits_boxed = 0;
      for (const PluginSlot& other : counted.slots) {
        for (const PluginGeneration& hit : other.generations) {
          if (hit.number != one.number) continue;
          one.hits_typed = hit.hits_typed;
          one.hits_boxed = hit.hits_boxed;
        }
      }
    }
  }
}

std::string pretty(const PluginList& whole, uint32_t width, bool all) {
  PluginList list = whole;
  const size_t dropped = all ? 0 : drop_ended(&list);
  std::string out = list.slots.empty() ? "no plugin is loaded\n" : table_of(list, width, all);
  out += "\n";
  std::vector<std::string> changes;
  for (const client::PluginChangeUnderWay& one : list.under_way) {
    changes.push_back(one_change(one));
  }
  if (!changes.empty()) out += wrapped("under way: " + joined(changes), 0, width);
  if (list.counted_ns > 0) {
    out += str_cat("hits counted for ", duration(list.counted_ns), "\n");
  }
  const client::CallTotals& calls = list.calls;
  out +=
      wrapped(str_cat("calls: ", with_thousands(calls.accepted),
                      " accepted = ", with_thousands(calls.completed), " completed + ",
                      with_thousands(calls.failed), " failed + ", with_thousands(calls.cancelled),
                      " cancelled + ", with_thousands(calls.in_flight), " in flight"),
              0, width);
  if (!list.available.empty()) {
    out += wrapped("can be loaded: " + joined(list.available), 0, width);
  }
  if (dropped > 0) {
    out += wrapped(str_cat("not shown: ", dropped,
                           dropped == 1 ? " generation that is" : " generations that are",
                           " closed or failed (--all)"),
                   0, width);
  }
  return out;
}

std::string pretty_kernels(const PluginList& list, bool all) {
  std::string out;
  for (const PluginSlot& slot : list.slots) {
    for (const PluginGeneration& one : slot.generations) {
      if (one.kernels.empty() || (!all && is_over(one))) continue;
      out += str_cat("\n", slot.name, ", generation ", one.number, " (", one.state, ")\n");
      size_t op = 0;
      size_t key = 0;
      for (const client::PluginKernel& kernel : one.kernels) {
        op = std::max(op, columns_of(kernel.op));
        key = std::max(key, columns_of(kernel.key));
      }
      for (const client::PluginKernel& kernel : one.kernels) {
        out += str_cat("  ", padded(kernel.op, op), "  ", padded(kernel.key, key), "  ",
                       kernel.typed ? "typed" : "boxed",
                       kernel.why_boxed.empty() ? "" : ": " + kernel.why_boxed, "\n");
      }
    }
  }
  return out;
}

std::string pretty(const client::PluginChange& change, const std::string& verb) {
  std::string out = str_cat(change.slot, " ", verb, ": ");
  if (change.new_generation != 0) {
    out += str_cat("generation ", change.new_generation, " is active");
  } else {
    out += "no generation is active";
  }
  out += str_cat(", published in ", duration(change.publish_ns), ", all done in ",
                 duration(change.total_ns), "\n");
  if (change.old_generation != 0) {
    out += str_cat("generation ", change.old_generation, " is ", change.old_state,
                   what_next(change), "\n");
  }
  if (!change.lost.empty() && change.new_generation != 0) {
    out += str_cat("lost: ", joined(change.lost, kShownOps), "\n");
  }
  if (!change.note.empty()) out += change.note + "\n";
  return out;
}

std::string pretty(const std::vector<client::PluginDifference>& differences) {
  if (differences.empty()) return "no differences\n";
  size_t kind = 0;
  for (const client::PluginDifference& one : differences) {
    kind = std::max(kind, columns_of(one.kind));
  }
  std::string out;
  for (const client::PluginDifference& one : differences) {
    out += str_cat(padded(one.kind, kind), "  ", one.what);
    if (!one.before.empty() || !one.after.empty()) {
      out += str_cat(": ", one.before.empty() ? "nothing" : one.before, " -> ",
                     one.after.empty() ? "nothing" : one.after);
    }
    if (!one.needs.empty()) out += str_cat("  (needs ", option_of(one.needs), ")");
    out += "\n";
  }
  return out;
}

}  // namespace opyard::cli
