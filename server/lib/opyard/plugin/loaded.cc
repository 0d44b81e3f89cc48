#include "opyard/plugin/loaded.h"

#include <elf.h>
#include <link.h>

#include <exception>
#include <fstream>
#include <string_view>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace opyard::plugin {
namespace {

// The loader holds a lock of its own while it shows what it has; ThreadSanitizer does not see that.
struct LoaderHoldsItsLock {
#if defined(__SANITIZE_THREAD__)
  LoaderHoldsItsLock() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~LoaderHoldsItsLock() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#endif
};

struct Collected {
  std::vector<LoadedObject> objects;
  std::exception_ptr failure;  // nothing may be thrown through the loader
};

void read_dynamic(const dl_phdr_info& info, const ElfW(Dyn) * entries, LoadedObject& object) {
  uintptr_t texts = 0;
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = entry->d_un.d_ptr;
  }
  if (texts == 0) return;
  // The loader has made an address of it, but not in every object (the kernel's own, for one).
  if (texts < info.dlpi_addr) texts += info.dlpi_addr;
  const auto* names = reinterpret_cast<const char*>(texts);
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_FLAGS_1) object.never_leaves = entry->d_un.d_val & DF_1_NODELETE;
    if (entry->d_tag == DT_SONAME) object.soname = names + entry->d_un.d_val;
    if (entry->d_tag == DT_NEEDED) object.needed.emplace_back(names + entry->d_un.d_val);
  }
}

int collect(dl_phdr_info* info, size_t, void* context) {
  auto& collected = *static_cast<Collected*>(context);
  try {
    [[maybe_unused]] const LoaderHoldsItsLock locked;
    LoadedObject object;
    object.path = info->dlpi_name ? info->dlpi_name : "";
    const ElfW(Dyn)* dynamic = nullptr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD) object.ranges.emplace_back(start, start + segment.p_memsz);
      if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(start);
    }
    if (dynamic) read_dynamic(*info, dynamic, object);
    collected.objects.push_back(std::move(object));
    return 0;
  } catch (...) {
    collected.failure = std::current_exception();
    return 1;
  }
}

}  // namespace

#if defined(__SANITIZE_THREAD__)
namespace {
char loader_lock = 0;  // stands for it
}
void note_unmapping() noexcept { __tsan_release(&loader_lock); }
void note_mapping() noexcept { __tsan_acquire(&loader_lock); }
#else
void note_unmapping() noexcept {}
void note_mapping() noexcept {}
#endif

std::vector<LoadedObject> loaded_objects() {
  Collected collected;
  dl_iterate_phdr(&collect, &collected);
  if (collected.failure) std::rethrow_exception(collected.failure);
  return std::move(collected.objects);
}

std::vector<std::string> mappings_of(const std::string& path) {
  constexpr std::string_view kDeleted = " (deleted)";
  const bool is_folder = !path.empty() && path.back() == '/';
  std::vector<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');  // the fields before the name have none
    if (at == std::string::npos) continue;
    std::string_view name = std::string_view(line).substr(at);
    if (name.size() > kDeleted.size() && name.substr(name.size() - kDeleted.size()) == kDeleted) {
      name.remove_suffix(kDeleted.size());
    }
    if (is_folder ? name.substr(0, path.size()) == path : name == path) found.push_back(line);
  }
  return found;
}

}  // namespace opyard::plugin
