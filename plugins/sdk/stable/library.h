#pragma once

#include <deque>

#include "plugins/sdk/stable/kernels.h"

#ifdef OPYARD_LIBRARY
#error "a plugin is written with opyard_sdk.h or with opyard_stable.h, not with both"
#endif

OPYARD_STABLE_BEGIN

// What m.def and m.impl take as a kernel.
struct KernelRecord {
  opyard_boxed_fn boxed = nullptr;
  void* self = nullptr;
  std::string (*schema)() = nullptr;
  uint32_t flags = 0;
};
template <auto Function>
constexpr KernelRecord kernel_of() {
  return {&Boxed<Function>::call, nullptr, &Boxed<Function>::schema, 0};
}
// Skips the key.
constexpr KernelRecord kFallthrough{nullptr, nullptr, nullptr, OPYARD_FALLTHROUGH};
// A function of the C interface; for fallbacks, which serve any signature.
constexpr KernelRecord boxed(opyard_boxed_fn function, void* self = nullptr) {
  return {function, self, nullptr, 0};
}

// Names that a definition carries: Tags{"pointwise,core"}.
struct Tags {
  std::string_view names;
};
enum class AliasAnalysis : uint32_t {
  kFromSchema = OPYARD_ALIAS_FROM_SCHEMA,
  kConservative = OPYARD_ALIAS_CONSERVATIVE,
  kPureFunction = OPYARD_ALIAS_PURE_FUNCTION
};

// A text with the place where it is written.
struct Placed {
  template <typename T>
  requires std::is_convertible_v<const T&, std::string_view> Placed(
      const T& text, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE())
      : text(text), file(file), line(line) {}
  std::string_view text;
  const char* file;
  unsigned line;
};

// Records what one OPYARD_LIBRARY* block declares, as the structs of the C interface. It checks
// nothing itself: the host does. Its records stay where they are when it is moved.
class Library {
 public:
  Library(uint32_t kind, std::string_view name_space, std::string_view key, const char* file,
          uint32_t line) {
    block_.struct_size = sizeof(block_);
    block_.kind = kind;
    block_.line = line;
    block_.file = keep(file);
    block_.name_space = keep(name_space);
    block_.key = keep(key);
  }
  Library(Library&&) = default;

  // Defines an operator by its schema; or by a name alone, with a kernel that tells the rest. More
  // may follow, in any order: a kernel at the block's key (else CompositeImplicitAutograd), Tags,
  // an AliasAnalysis.
  template <typename... More>
  Library& def(Placed schema, const More&... more) {
    [[maybe_unused]] const size_t definition = records_.size();
    opyard_registration& added = add(OPYARD_REGISTER_DEF, schema);
    if (schema.text.find('(') == std::string_view::npos) added.flags |= OPYARD_SCHEMA_INFERRED;
    (complete(definition, schema, more), ...);
    return *this;
  }
  // A kernel of an operator at a key; without one, at the block's.
  Library& impl(Placed op, const KernelRecord& kernel) {
    fill(add(OPYARD_REGISTER_IMPL, op), kernel);
    return *this;
  }
  Library& impl(Placed op, std::string_view key, const KernelRecord& kernel) {
    opyard_registration& added = add(OPYARD_REGISTER_IMPL, op);
    added.key = keep(key);
    fill(added, kernel);
    return *this;
  }
  // The same, replacing another kernel on purpose.
  Library& override_impl(Placed op, const KernelRecord& kernel) {
    impl(op, kernel);
    records_.back().flags |= OPYARD_OVERRIDES;
    return *this;
  }
  // For every operator without a kernel at the block's key; on namespace _ only.
  Library& fallback(const KernelRecord& kernel, const char* file = __builtin_FILE(),
                    unsigned line = __builtin_LINE()) {
    fill(add(OPYARD_REGISTER_FALLBACK, Placed("", file, line)), kernel);
    return *this;
  }

  opyard_block block() const {
    opyard_block made = block_;
    made.registrations = records_.data();
    made.count = records_.size();
    return made;
  }

 private:
  opyard_str keep(std::string_view text) { return as_str(texts_.emplace_back(text)); }
  opyard_registration& add(uint32_t kind, const Placed& place) {
    opyard_registration& added = records_.emplace_back();
    added.struct_size = sizeof(added);
    added.kind = kind;
    added.text = keep(place.text);
    added.file = keep(place.file);
    added.line = place.line;
    return added;
  }
  static void fill(opyard_registration& added, const KernelRecord& kernel) {
    added.boxed = kernel.boxed;
    added.self = kernel.self;
    added.flags |= kernel.flags;
  }
  void complete(size_t definition, const Placed&, const Tags& tags) {
    records_[definition].tags = keep(tags.names);
  }
  void complete(size_t definition, const Placed&, AliasAnalysis kind) {
    records_[definition].alias_analysis = static_cast<uint32_t>(kind);
  }
  void complete(size_t definition, const Placed& schema, const KernelRecord& kernel) {
    if ((records_[definition].flags & OPYARD_SCHEMA_INFERRED) && kernel.schema) {
      records_[definition].schema = keep(kernel.schema());
    }
    const std::string_view name = schema.text.substr(0, schema.text.find('('));
    impl(Placed(name, schema.file, schema.line), kernel);
  }

  std::deque<std::string> texts_;  // deque: addresses stay
  std::vector<opyard_registration> records_{};
  opyard_block block_{};
};

// One block in the section that OPYARD_STABLE_PLUGIN walks.
struct LibraryRecord {
  void (*fill)(Library&);
  const char* name_space;
  const char* key;
  const char* file;
  uint32_t line;
  uint32_t kind;
};

OPYARD_STABLE_END

// Blocks are records in a section, as with opyard/dispatch/library.h: no constructor runs. Their
// alignment is said, or compilers raise it for speed and leave gaps between them.
#define OPYARD_CONCAT_(a, b) a##b
#define OPYARD_CONCAT(a, b) OPYARD_CONCAT_(a, b)
#define OPYARD_BLOCK_(kind, ns, key, m, id)                                                \
  static void OPYARD_CONCAT(opyard_fill_, id)(::opyard::stable::Library & m);              \
  [[gnu::used, gnu::retain, gnu::section("opyard_library"),                                \
    gnu::aligned(                                                                          \
        alignof(::opyard::stable::LibraryRecord))]] static ::opyard::stable::LibraryRecord \
      OPYARD_CONCAT(opyard_record_, id) = {                                                \
          &OPYARD_CONCAT(opyard_fill_, id), ns, key, __FILE__, __LINE__, kind};            \
  static void OPYARD_CONCAT(opyard_fill_, id)([[maybe_unused]] ::opyard::stable::Library & m)

// OPYARD_LIBRARY(ns, m) { m.def("…"); }: definitions of a namespace, once each.
#define OPYARD_LIBRARY(ns, m) OPYARD_BLOCK_(OPYARD_BLOCK_DEF, #ns, "", m, __COUNTER__)
// More definitions of a namespace that may stand elsewhere too.
#define OPYARD_LIBRARY_FRAGMENT(ns, m) OPYARD_BLOCK_(OPYARD_BLOCK_FRAGMENT, #ns, "", m, __COUNTER__)
// Kernels of a namespace at a key; on namespace _ fallbacks.
#define OPYARD_LIBRARY_IMPL(ns, key, m) OPYARD_BLOCK_(OPYARD_BLOCK_IMPL, #ns, #key, m, __COUNTER__)
// A function as a kernel: m.impl("axpby", OPYARD_FN(axpby)).
#define OPYARD_FN(function) (::opyard::stable::kernel_of<&function>())
