#include "opyard/runtime/plugin_dirs.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include "opyard/base/check.h"

namespace opyard::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libopyard_plugin_";
constexpr std::string_view kSuffix = ".so";
constexpr size_t kLongestName = 64;
constexpr size_t kLongestDir = 200;  // in a message

// A function of ours, whose address tells where libopyard lies.
void landmark() {}

std::string default_dir() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&landmark), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  // <prefix>/lib/libopyard.so, and plugins in <prefix>/lib/opyard/plugins. A program that has the
  // library inside itself lies in <prefix>/bin.
  return error ? std::string()
               : (library.parent_path().parent_path() / "lib/opyard/plugins").string();
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

// For who gives a file: the options that name what lies there. Empty for anything else.
std::string how_to_name(std::string_view text) {
  const size_t slash = text.rfind('/');
  const std::string_view dir = slash == text.npos ? "" : text.substr(0, slash);
  std::string_view name = slash == text.npos ? text : text.substr(slash + 1);
  if (slash == text.npos && !name.ends_with(kSuffix)) return {};
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const bool plain = std::all_of(dir.begin(), dir.end(), [](unsigned char c) { return c > ' '; });
  if (!is_plain_name(name) || !plain || dir.size() > kLongestDir) {
    return "; a plugin is named, not located: --plugin-dir DIR --plugin NAME";
  }
  return str_cat("; a plugin is named, not located: ", dir.empty() ? "" : "--plugin-dir ", dir,
                 dir.empty() ? "" : " ", "--plugin ", name);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

PluginDirs::PluginDirs(std::vector<std::string> dirs)
    : dirs_(dirs.empty() ? std::vector<std::string>{default_dir()} : std::move(dirs)) {}

std::string PluginDirs::find(std::string_view name) const {
  OPYARD_CHECK(is_plain_name(name), kInvalidArgument,
               "a plugin's name has letters, digits, '_' and '-', not '",
               name.substr(0, kLongestName), "'", how_to_name(name));
  for (const std::string& dir : dirs_) {
    std::string path = str_cat(dir, "/", kPrefix, name, kSuffix);
    if (std::error_code error; fs::is_regular_file(path, error)) return path;
  }
  const std::string list = joined(available());
  raise(Code::kNotFound, str_cat("there is no plugin '", name, "' in ", joined(dirs_), "; there ",
                                 list.empty() ? "is none" : str_cat("are: ", list)));
}

std::vector<std::string> PluginDirs::available() const {
  std::vector<std::string> names;
  for (const std::string& dir : dirs_) {
    std::error_code error;
    for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
      const std::string file = at->path().filename();
      const bool fits = file.starts_with(kPrefix) && file.ends_with(kSuffix) &&
                        file.size() > kPrefix.size() + kSuffix.size();
      if (!fits) continue;
      std::string name = file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
      if (is_plain_name(name)) names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace opyard::runtime
