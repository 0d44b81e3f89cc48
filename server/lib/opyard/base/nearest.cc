#include "opyard/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace opyard {
namespace {

// Names beyond this are compared by their beginnings: the cost is quadratic and the input is a
// stranger's.
constexpr size_t kMaxCompared = 64;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Edit distance with neighbour swaps (optimal string alignment); every step costs 2, a change of
// case 1.
int distance(std::string_view a, std::string_view b) {
  std::vector<int> older(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = 2 * static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = 2 * static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int change = a[i - 1] == b[j - 1] ? 0 : lower(a[i - 1]) == lower(b[j - 1]) ? 1 : 2;
      row[j] = std::min({above[j] + 2, row[j - 1] + 2, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], older[j - 2] + 2);
      }
    }
    std::swap(older, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

// Steps from one to the other; nothing when they differ in more than about half of the letters.
std::optional<int> steps_within(std::string_view wanted, std::string_view candidate) {
  const int worst = static_cast<int>(wanted.size());  // half of the letters, at 2 a letter
  const int longer = static_cast<int>(candidate.size()) - static_cast<int>(wanted.size());
  if (2 * std::abs(longer) > worst) return std::nullopt;
  const int steps = distance(wanted, candidate);
  return steps <= worst ? std::optional(steps) : std::nullopt;
}

// The length of "aten::" in "aten::add".
size_t scope_of(std::string_view name) {
  const size_t colons = name.rfind("::");
  return colons == name.npos ? 0 : colons + 2;
}

// A long scope excuses no short name: both parts have to look alike, or the name is the
// same. Without a scope, any will do.
std::optional<int> steps_between(std::string_view wanted, std::string_view candidate) {
  const size_t scope = scope_of(wanted);
  const size_t other = scope_of(candidate);
  const auto name = steps_within(wanted.substr(scope), candidate.substr(other));
  if (!name || scope == 0) return name;
  if (other == 0) return std::nullopt;
  const auto before = steps_within(wanted.substr(0, scope - 2), candidate.substr(0, other - 2));
  if (before) return *name + *before;
  // The right name in the wrong scope comes last.
  return *name == 0 ? std::optional(2 * static_cast<int>(kMaxCompared)) : std::nullopt;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted,
                                       const std::vector<std::string>& candidates, size_t count) {
  wanted = wanted.substr(0, kMaxCompared);
  std::vector<std::pair<int, const std::string*>> scored;
  for (const std::string& candidate : candidates) {
    const auto steps = steps_between(wanted, std::string_view(candidate).substr(0, kMaxCompared));
    if (steps) scored.emplace_back(*steps, &candidate);
  }
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : *a.second < *b.second;
  });
  std::vector<std::string> names;
  for (const auto& entry : scored) {
    if (names.size() == count) break;
    names.push_back(*entry.second);
  }
  return names;
}

}  // namespace opyard
