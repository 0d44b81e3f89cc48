#include "opyard/plugin/image.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "opyard/base/check.h"
#include "opyard/plugin/hooks.h"
#include "opyard/plugin/loaded.h"

namespace opyard::plugin {
namespace {

std::string loader_says() {
  const char* reason = dlerror();
  return reason ? reason : "no reason given";
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

const LoadedObject* find_path(const std::vector<LoadedObject>& objects, const std::string& path) {
  const auto found = std::find_if(objects.begin(), objects.end(),
                                  [&](const LoadedObject& object) { return object.path == path; });
  return found == objects.end() ? nullptr : &*found;
}

std::string name_of(const LoadedObject& object) {
  return object.soname.empty() ? base_name(object.path) : object.soname;
}

// Which loaded object a needed name means.
const LoadedObject* find_needed(const std::vector<LoadedObject>& objects, const std::string& name) {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const LoadedObject& object) {
    return object.soname == name || object.path == name || base_name(object.path) == name;
  });
  return found == objects.end() ? nullptr : &*found;
}

// The objects that one needs, and those that these need.
std::vector<const LoadedObject*> closure_of(const std::vector<LoadedObject>& objects,
                                            const LoadedObject* first) {
  std::vector<const LoadedObject*> all;
  std::set<const LoadedObject*> seen{first};
  std::vector<const LoadedObject*> open{first};
  while (!open.empty()) {
    const LoadedObject* object = open.back();
    open.pop_back();
    for (const std::string& name : object->needed) {
      const LoadedObject* needed = find_needed(objects, name);
      if (!needed || !seen.insert(needed).second) continue;
      all.push_back(needed);
      open.push_back(needed);
    }
  }
  return all;
}

}  // namespace

Image::Image(StoredFile file, const LintReport& report)
    : file_(std::move(file)), pins_(report.pins), pinned_(report.pinned_dependencies) {}

Image::~Image() = default;

std::unique_ptr<Image> Image::map(const StoredFile& file, const LintReport& report) {
  std::unique_ptr<Image> image = open(file, report);
  try {
    image->check();
  } catch (...) {
    image->unmap();
    throw;
  }
  return image;
}

std::unique_ptr<Image> Image::open(const StoredFile& file, const LintReport& report) {
  std::unique_ptr<Image> image(new Image(file, report));
  image->open_file();
  return image;
}

void Image::check() {
  pin_dependencies();
  find_private_libraries();
  entry_ = reinterpret_cast<opyard_plugin_entry_fn>(dlsym(handle_, "opyard_plugin_entry"));
  OPYARD_CHECK(entry_ && contains(reinterpret_cast<const void*>(entry_)), kFailedPrecondition, "'",
               file_.name, "' is no plugin: it does not export opyard_plugin_entry itself");
}

void Image::open_file() {
  // Somebody else's image would answer to the same name.
  OPYARD_CHECK(!is_mapped(), kFailedPrecondition, "'", file_.path, "' is mapped already");
  std::vector<std::string> before;
  for (const LoadedObject& object : loaded_objects()) before.push_back(object.path);
  earlier_ = running_threads();
  handle_ = dlopen(file_.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  note_mapping();
  OPYARD_CHECK(handle_, kFailedPrecondition, "'", file_.name,
               "' cannot be loaded: ", loader_says());
  const std::string folder = file_.folder + "/";
  for (const LoadedObject& object : loaded_objects()) {
    if (starts_with(object.path, folder)) {
      ranges_.insert(ranges_.end(), object.ranges.begin(), object.ranges.end());
    } else if (std::find(before.begin(), before.end(), object.path) == before.end()) {
      arrived_.push_back(object.path);
    }
  }
}

// The loader takes a library that is there already for any other of its name.
void Image::find_private_libraries() {
  const std::vector<LoadedObject> objects = loaded_objects();
  for (const std::string& name : file_.private_libraries) {
    const std::string wanted = file_.folder + "/" + name;
    if (find_path(objects, wanted)) continue;
    const LoadedObject* taken = find_needed(objects, name);
    raise(Code::kFailedPrecondition,
          str_cat("'", file_.name, "' brings its own ", name, ", but the process has '",
                  taken ? taken->path : "another one",
                  "' under that name and the loader gave it that one; link the library into the "
                  "plugin, or give it a SONAME with its version or hash"));
  }
}

std::vector<std::string> Image::pinned_dependencies() const {
  const std::lock_guard lock(mutex_);
  return pinned_;
}

void Image::note_pinned(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (std::find(pinned_.begin(), pinned_.end(), name) == pinned_.end()) pinned_.push_back(name);
}

// A plugin's going must not unmap the code that the workers of a pool wait in; and what would take
// memory anew each time that it is mapped is mapped once.
void Image::pin_dependencies() {
  const std::vector<LoadedObject> objects = loaded_objects();
  const LoadedObject* mine = find_path(objects, file_.path);
  if (!mine) return;
  for (const LoadedObject* object : closure_of(objects, mine)) {
    const std::string name = name_of(*object);
    const bool came = std::find(arrived_.begin(), arrived_.end(), object->path) != arrived_.end();
    if (is_pinned_library(name) || (came && object->never_leaves)) note_pinned(name);
    const bool own = starts_with(object->path, file_.folder + "/");
    if (!is_thread_pool_runtime(name) && (own || !is_pinned_library(name))) continue;
    void* handle = dlopen(object->path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    OPYARD_CHECK(handle, kFailedPrecondition, "'", file_.name, "' brings ", name,
                 ", which has to be kept and cannot: ", loader_says());
  }
}

// What came with it and did not go with it, whoever may use it by now.
void Image::note_left_behind() {
  const std::vector<LoadedObject> objects = loaded_objects();
  for (const std::string& path : arrived_) {
    if (const LoadedObject* object = find_path(objects, path)) note_pinned(name_of(*object));
  }
}

bool Image::contains(const void* place) const noexcept {
  const auto address = reinterpret_cast<uintptr_t>(place);
  return !gone_ && std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) {
    return address >= range.first && address < range.second;
  });
}

std::vector<ThreadInside> Image::threads_inside() const {
  const auto inside = [&](uintptr_t place) {
    return contains(reinterpret_cast<const void*>(place));
  };
  std::vector<ThreadInside> threads;
  for (const ThreadStart& start : thread_starts()) {
    // What an older thread was started with is long free, and may hold anything by now.
    if (std::find(earlier_.begin(), earlier_.end(), start.key) != earlier_.end()) continue;
    if (inside(start.routine) || inside(start.argument) || inside(start.first_word)) {
      threads.push_back({start.key.id, thread_name(start.key.id)});
    }
  }
  return threads;
}

std::vector<std::string> Image::hooks_inside() const {
  return hooks_into(
      [&](uintptr_t place) { return contains(reinterpret_cast<const void*>(place)); });
}

bool Image::is_mapped() const {
  const std::string folder = file_.folder + "/";
  const std::vector<LoadedObject> objects = loaded_objects();
  return std::any_of(
             objects.begin(), objects.end(),
             [&](const LoadedObject& object) { return starts_with(object.path, folder); }) ||
         !mappings_of(folder).empty();
}

std::optional<std::string> Image::unmap() {
  if (is_mapped()) {
    const std::vector<ThreadInside> threads = threads_inside();
    if (!threads.empty()) {
      return str_cat("its thread ", threads.front().id, " ('", threads.front().name, "')",
                     threads.size() > 1 ? str_cat(" and ", threads.size() - 1, " more") : "",
                     " still runs; quiesce has to end it");
    }
    const std::vector<std::string> hooks = hooks_inside();
    if (!hooks.empty()) return hooks.front();
  }
  // Once closed, a handle of the moment makes the loader look again.
  if (!handle_) handle_ = dlopen(file_.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle_) {
    note_unmapping();
    const bool failed = dlclose(handle_) != 0;
    handle_ = nullptr;
    if (failed) return str_cat("the loader does not close it: ", loader_says());
  }
  note_left_behind();
  if (!is_mapped()) {
    gone_ = true;
    return std::nullopt;
  }
  return why_still_mapped();
}

std::string Image::why_still_mapped() const {
  const std::vector<LoadedObject> objects = loaded_objects();
  const std::string folder = file_.folder + "/";
  if (!pins_.empty()) {
    std::string text = "it is still mapped:";
    for (const std::string& pin : pins_) text += " " + pin;
    return text;
  }
  for (const LoadedObject& object : objects) {
    if (starts_with(object.path, folder)) continue;
    for (const LoadedObject* needed : closure_of(objects, &object)) {
      if (starts_with(needed->path, folder)) {
        return str_cat("it is still mapped: ", object.path, " depends on it");
      }
    }
  }
  for (const LoadedObject& object : objects) {
    if (starts_with(object.path, folder) && object.path != file_.path &&
        !find_path(objects, file_.path)) {
      return str_cat("the library ", base_name(object.path), " that it brought is still mapped");
    }
  }
  return "it is still mapped, cause unknown (another handle to it may be open)";
}

}  // namespace opyard::plugin
