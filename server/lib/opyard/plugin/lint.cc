#include "opyard/plugin/lint.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "opyard/base/check.h"

namespace opyard::plugin {
namespace {

constexpr std::string_view kEntry = "opyard_plugin_entry";

// OpenMP's and TBB's: their workers run in them.
constexpr std::array<std::string_view, 6> kThreadPools = {"libgomp", "libiomp5",     "libomp",
                                                          "libtbb",  "libtbbmalloc", "libtbbbind"};
// Some cannot leave; libblis could, but never gives back what it has taken.
constexpr std::array<std::string_view, 7> kPinned = {
    "libdnnl", "libopenblas", "libopenblasp", "libblis", "libLLVM", "libOpenCL", "libpocl"};

struct Refused {
  std::string_view library;
  std::string_view reason;
};
constexpr std::string_view kDaemonHas =
    "the daemon is made of it and can bear no second one; link it statically and export nothing "
    "of it";
constexpr std::array<Refused, 5> kRefused = {{
    {"libcuda", "open it with dlopen in init, so that machines without the driver can tell why"},
    {"libgrpc", kDaemonHas},
    {"libgpr", kDaemonHas},
    {"libprotobuf", kDaemonHas},
    {"libabsl", kDaemonHas},
}};

// Functions that change the whole process.
constexpr std::array<std::string_view, 9> kForbidden = {
    "exit", "_exit", "_Exit", "quick_exit", "chdir", "setlocale", "umask", "signal", "sigaction"};

// "libgomp" of "libgomp.so.1", "libgrpc" of "libgrpc++.so.1.51", "libabsl" of
// "libabsl_base.so.20220623".
bool belongs_to(std::string_view library, std::string_view family) noexcept {
  library = library.substr(library.rfind('/') + 1);  // npos + 1 is 0
  if (library.substr(0, family.size()) != family) return false;
  library.remove_prefix(family.size());
  return library.empty() ||
         std::string_view(".-_+").find(library.front()) != std::string_view::npos;
}

bool is_exported(const ElfSymbol& symbol) {
  constexpr std::array<std::string_view, 8> kLinkers = {"_init",       "_fini",  "_edata", "_end",
                                                        "__bss_start", "_etext", "edata",  "end"};
  return symbol.defined && !symbol.absolute && symbol.binding != STB_LOCAL &&
         symbol.visibility != STV_HIDDEN && symbol.visibility != STV_INTERNAL &&
         symbol.type != STT_SECTION && symbol.type != STT_FILE &&
         std::find(kLinkers.begin(), kLinkers.end(), symbol.name) == kLinkers.end();
}

class Linter {
 public:
  Linter(const ElfFile& file, LintReport& report) : file_(file), report_(report) {}

  void check_plugin(const HostOffers& host) {
    report_.note = read_note(file_, host);
    report_.build_id = file_.build_id();
    report_.needed = file_.needed();
    check_segments();
    check_exports();
    check_imports();
    check_needed();
  }

  // What it exports is its own affair, but for what pins it.
  void check_library() {
    subject_ = str_cat("Its library ", shown(file_.name()));
    check_segments();
    check_unique();
    check_imports();
    check_needed();
  }

  void check_claim() {
    if (report_.note.unload_class == OPYARD_NEVER_UNLOADABLE) {
      report_.pins.emplace_back("Its author says that it cannot be unloaded.");
    }
    if (report_.note.unload_class == OPYARD_UNLOADABLE && !report_.pinned_dependencies.empty()) {
      report_.warnings.push_back(str_cat("It calls itself unloadable, but what it brings stays: ",
                                         report_.pinned_dependencies.front(), "."));
    }
  }

 private:
  template <typename... Parts>
  std::string refusal(const Parts&... parts) const {
    return str_cat("the plugin '", file_.name(), "' is refused: ", parts...);
  }

  void check_segments() {
    OPYARD_CHECK(!(file_.flags() & DF_STATIC_TLS) || !file_.has_thread_locals(),
                 kFailedPrecondition,
                 refusal("it has thread-local variables of the static kind, of which a process has "
                         "room for few; compile it without -ftls-model=initial-exec"));
    OPYARD_CHECK(!file_.has_text_relocations(), kFailedPrecondition,
                 refusal("it has text relocations; compile it with -fPIC"));
    OPYARD_CHECK(!file_.has_executable_stack(), kFailedPrecondition,
                 refusal("it wants an executable stack; link it with -z noexecstack (an assembly "
                         "source may lack its .note.GNU-stack section)"));
    OPYARD_CHECK(!(file_.flags_1() & (DF_1_NOOPEN | DF_1_PIE)), kFailedPrecondition,
                 refusal("it is a program or is marked as not to be opened; link it with -shared"));
    if (file_.has_writable_code()) {
      report_.warnings.push_back(
          str_cat(subject_, " has a segment that is writable and executable."));
    }
    if (file_.flags_1() & DF_1_NODELETE) {
      report_.pins.push_back(str_cat(
          subject_,
          " is marked as never to be unloaded (DF_1_NODELETE); link it without -z nodelete."));
    }
  }

  void check_exports() {
    const ElfSymbol* entry = nullptr;
    std::vector<std::string_view> others;
    for (const ElfSymbol& symbol : file_.symbols()) {
      if (!is_exported(symbol)) continue;
      if (symbol.name == kEntry) {
        entry = &symbol;
      } else {
        others.push_back(symbol.name);
      }
    }
    OPYARD_CHECK(entry && entry->type == STT_FUNC, kFailedPrecondition,
                 refusal("it does not export the function ", kEntry,
                         "; use OPYARD_PLUGIN, and leave that function global in the version "
                         "script"));
    if (!others.empty()) {
      report_.warnings.push_back(
          str_cat("It exports ", others.size(), " symbol", others.size() == 1 ? "" : "s",
                  " besides ", kEntry, " (", listed(others),
                  "); others may bind to them. Use a version script or -fvisibility=hidden."));
    }
    check_unique();
  }

  void check_unique() {
    std::vector<std::string_view> unique;
    for (const ElfSymbol& symbol : file_.symbols()) {
      if (symbol.defined && symbol.binding == STB_GNU_UNIQUE) unique.push_back(symbol.name);
    }
    if (unique.empty()) return;
    report_.pins.push_back(str_cat(
        subject_, " defines ", unique.size(), " unique symbol", unique.size() == 1 ? "" : "s", " (",
        listed(unique), "); compile it with -fno-gnu-unique or keep them out of its exports."));
  }

  static std::string listed(const std::vector<std::string_view>& names) {
    constexpr size_t kMost = 8;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
      text += str_cat(i == 0 ? "" : ", ", shown(names[i]));
    }
    return names.size() > kMost ? text + ", …" : text;
  }

  void check_imports() {
    std::vector<std::string_view> forbidden;
    bool threads = false;
    for (const ElfSymbol& symbol : file_.symbols()) {
      if (symbol.defined) continue;
      const std::string_view name = symbol.name;
      OPYARD_CHECK(name != "on_exit", kFailedPrecondition,
                   refusal("it calls on_exit, and the process would call its function when it is "
                           "gone; atexit belongs to the plugin and runs when that goes"));
      if (name == "__cxa_thread_atexit" || name == "__cxa_thread_atexit_impl") {
        report_.pins.push_back(
            str_cat(subject_, " has thread_local variables with destructors (it calls ", name,
                    "): each thread that touched one keeps it mapped until that thread ends."));
      }
      if (name == "pthread_key_create" || name == "tss_create") {
        report_.warnings.push_back(
            str_cat(subject_, " makes keys with ", name,
                    ": one with a destructor that is not deleted in fini ends the process later."));
      }
      threads |= name == "pthread_create" || name == "thrd_create" ||
                 name.substr(0, 29) == "_ZNSt6thread15_M_start_thread";
      if (std::find(kForbidden.begin(), kForbidden.end(), name) != kForbidden.end()) {
        forbidden.push_back(name);
      }
    }
    if (threads) {
      report_.remarks.push_back(str_cat(subject_, " starts threads; quiesce has to end them."));
    }
    if (!forbidden.empty()) {
      report_.warnings.push_back(
          str_cat(subject_, " calls ", listed(forbidden), ", which change the whole process."));
    }
  }

  void check_needed() {
    for (const std::string& needed : file_.needed()) {
      const bool relative = needed.find('/') != std::string::npos && needed.front() != '/';
      OPYARD_CHECK(!needed.empty() && !relative, kFailedPrecondition,
                   refusal("it needs '", shown(needed),
                           "', a path that depends on where the process stands; give the library "
                           "a SONAME"));
      for (const Refused& refused : kRefused) {
        OPYARD_CHECK(!belongs_to(needed, refused.library), kFailedPrecondition,
                     refusal("it needs ", shown(needed), ": ", refused.reason));
      }
      auto& pinned = report_.pinned_dependencies;
      if (is_pinned_library(needed) &&
          std::find(pinned.begin(), pinned.end(), needed) == pinned.end()) {
        pinned.push_back(needed);
      }
    }
  }

  const ElfFile& file_;
  LintReport& report_;
  std::string subject_ = "It";
};

}  // namespace

bool is_thread_pool_runtime(std::string_view library) noexcept {
  return std::any_of(kThreadPools.begin(), kThreadPools.end(),
                     [&](std::string_view family) { return belongs_to(library, family); });
}

bool is_pinned_library(std::string_view library) noexcept {
  return is_thread_pool_runtime(library) ||
         std::any_of(kPinned.begin(), kPinned.end(),
                     [&](std::string_view family) { return belongs_to(library, family); });
}

LintReport lint(const SourceFile& file, const HostOffers& host) {
  LintReport report;
  const ElfFile elf(file);
  Linter linter(elf, report);
  linter.check_plugin(host);
  linter.check_claim();
  return report;
}

LintReport lint(const std::string& path, const HostOffers& host) {
  return lint(SourceFile(path), host);
}

LintReport lint(const StoredFile& stored, const HostOffers& host) {
  LintReport report;
  const ElfFile elf{SourceFile(stored.path)};
  Linter linter(elf, report);
  linter.check_plugin(host);
  for (const std::string& name : stored.private_libraries) {
    const ElfFile library{SourceFile(stored.folder + "/" + name)};
    Linter(library, report).check_library();
  }
  linter.check_claim();
  return report;
}

}  // namespace opyard::plugin
