#include <algorithm>
#include <sstream>

#include "client/cli/commands.h"

namespace opyard::cli {
namespace {

constexpr size_t kLineWidth = 100;
constexpr std::string_view kFallthrough = "fallthrough ";

struct Group {
  std::string what;  // kernel and reason
  std::vector<std::string> keys;
};

void add_to(std::vector<Group>* groups, const std::string& what, const std::string& key) {
  const auto found = std::find_if(groups->begin(), groups->end(),
                                  [&](const Group& group) { return group.what == what; });
  if (found != groups->end()) return found->keys.push_back(key);
  groups->push_back({what, {key}});
}

std::string wrapped(const std::vector<std::string>& words, const std::string& indent) {
  std::string text = indent;
  size_t line = indent.size();
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (line > indent.size() && line + 1 + word.size() > kLineWidth) {
      text += "\n" + indent;
      line = indent.size();
    } else if (line > indent.size()) {
      text += ' ';
      ++line;
    }
    text += word;
    line += word.size();
  }
  return text + "\n";
}

}  // namespace

std::string fold_table(const std::string& dump) {
  std::vector<Group> groups;
  std::vector<std::string> fallthroughs;
  std::istringstream lines(dump);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    const std::string key = line.substr(0, colon);
    const std::string what = line.substr(colon + 2);
    if (what.starts_with(kFallthrough)) {
      fallthroughs.push_back(key);
    } else {
      add_to(&groups, what, key);
    }
  }
  // Kernels of the operator itself first, those that stand for many keys after them.
  const auto is_fallback = [](const Group& group) {
    return group.what.ends_with("[backend fallback]");
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Group& a, const Group& b) { return is_fallback(a) < is_fallback(b); });
  std::string text;
  for (const Group& group : groups) {
    if (group.keys.size() == 1) {
      text += "  " + group.keys.front() + ": " + group.what + "\n";
    } else {
      text += "  " + group.what + " at " + std::to_string(group.keys.size()) + " keys:\n" +
              wrapped(group.keys, "      ");
    }
  }
  if (!fallthroughs.empty()) {
    text += "  skipped (fallthrough) at " + std::to_string(fallthroughs.size()) + " keys:\n" +
            wrapped(fallthroughs, "      ");
  }
  return text + "  Keys that are not listed have no kernel.\n";
}

}  // namespace opyard::cli
