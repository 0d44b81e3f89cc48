#include "opyard/runtime/yard.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "kernels/shape/compute_gate.h"
#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/plugin/host.h"
#include "opyard/runtime/catalog.h"
#include "opyard/runtime/initialize.h"

namespace opyard::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libopyard_plugin_";
constexpr std::string_view kSuffix = ".so";

// A function of ours, whose address tells where libopyard lies.
void landmark() {}

std::string default_plugin_dir() {
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

Quotas fill_in(Quotas quotas, const Machine& machine) {
  if (quotas.total_bytes == 0) quotas.total_bytes = machine.memory_bytes / 4 * 3;
  if (quotas.session_bytes == 0) quotas.session_bytes = quotas.total_bytes;
  return quotas;
}

// Unloads a plugin when the last yard that uses it is gone.
class SlotUse {
 public:
  explicit SlotUse(std::string slot) : slot_(std::move(slot)) {}
  SlotUse(const SlotUse&) = delete;
  ~SlotUse() {
    try {
      plugin::Host::global().unload(slot_);
    } catch (...) {  // it was unloaded by hand, or this is the end of a call
      log(LogLevel::kWarning, current_error().message());
    }
  }

 private:
  const std::string slot_;
};

// The dispatcher is the process's, so a plugin is loaded once however many yards want it, and
// leaves with the last.
std::shared_ptr<void> load_shared(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SlotUse>> loaded;
  const std::lock_guard lock(mutex);
  std::weak_ptr<SlotUse>& known = loaded[fs::weakly_canonical(path).string()];
  std::shared_ptr<SlotUse> use = known.lock();
  if (!use) {
    use = std::make_shared<SlotUse>(plugin::Host::global().load(path).slot);
    known = use;
  }
  return use;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

}  // namespace

Yard::Yard(YardOptions options)
    : machine_(Machine::detect()),
      plugin_dirs_(options.plugin_dirs.empty() ? std::vector<std::string>{default_plugin_dir()}
                                               : std::move(options.plugin_dirs)),
      executor_(std::make_unique<Executor>(options.threads > 0 ? options.threads : machine_.cores)),
      sessions_(std::make_unique<Sessions>(fill_in(options.quotas, machine_), *executor_)) {
  shape::set_compute_threads(machine_.cores);
  initialize();
}

Yard::~Yard() {
  sessions_.reset();  // queues the last work of every session
  executor_.reset();  // and here it is done
}

std::string Yard::find_plugin(std::string_view name) const {
  std::string searched;
  for (const std::string& dir : plugin_dirs_) {
    std::string path = str_cat(dir, "/", kPrefix, name, kSuffix);
    if (std::error_code error; fs::is_regular_file(path, error)) return path;
    searched += (searched.empty() ? "" : ", ") + dir;
  }
  std::string list;
  for (const std::string& one : available_plugins()) list += (list.empty() ? "" : ", ") + one;
  raise(Code::kNotFound, str_cat("there is no plugin '", name, "' in ", searched, "; there ",
                                 list.empty() ? "is none" : str_cat("are: ", list)));
}

void Yard::load_plugin(std::string_view name) {
  OPYARD_CHECK(is_plain_name(name), kInvalidArgument,
               "a plugin's name has letters, digits, '_' and '-', not '", name.substr(0, 64), "'");
  const std::lock_guard lock(mutex_);
  if (std::find(plugins_.begin(), plugins_.end(), name) != plugins_.end()) return;
  const std::string path = find_plugin(name);
  in_use_.push_back(load_shared(path));
  plugins_.emplace_back(name);
  log(LogLevel::kInfo, str_cat("plugin ", name, " loaded from ", path));
  for (const std::string& op : Dispatcher::global().dangling_impls()) {
    log(LogLevel::kWarning, str_cat("there are kernels for '", op,
                                    "', which nothing defines; is its name spelled as in def()?"));
  }
}

std::vector<std::string> Yard::plugins() const {
  const std::lock_guard lock(mutex_);
  return plugins_;
}

std::vector<std::string> Yard::available_plugins() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const std::string& dir : plugin_dirs_) {
    for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
      const std::string file = entry.path().filename();
      const bool fits = file.starts_with(kPrefix) && file.ends_with(kSuffix) &&
                        file.size() > kPrefix.size() + kSuffix.size();
      if (!fits) continue;
      names.push_back(file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> Yard::devices() const { return devices_with_kernels(); }

}  // namespace opyard::runtime
