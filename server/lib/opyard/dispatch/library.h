#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/dispatch/attributes.h"
#include "opyard/dispatch/signature.h"
#include "opyard_plugin.h"

namespace opyard {

// Tags for kernels that are no functions.
struct Fallthrough {};  // skip this key
struct PassDown {};     // autograd fallback: go on below all Autograd keys
struct BoxedKernel {    // one function for any signature
  BoxedFn function;
  void* self = nullptr;
};

namespace detail {

// Inside of a handler: raises what it has caught as an Error, which has no type of a plugin's.
[[noreturn, gnu::cold]] void raise_as_error();

// What stands in the tables for a function or a lambda: nothing leaves it but an Error. Anything
// else might be caught when the plugin, with its type, has gone.
template <typename F, typename Traits, typename Signature>
struct Guarded;
template <typename F, typename Traits, typename R, typename... A>
struct Guarded<F, Traits, R(A...)> {
  [[gnu::noinline]] static R call(Keys keys, A... arguments) {
    try {
      return Traits::template call<F>(keys, std::forward<A>(arguments)...);
    } catch (...) {
      raise_as_error();
    }
  }
  // For keys of devices that come with plugins: their memory may have been taken away.
  static R call_checked(Keys keys, A... arguments) {
    (check_memory_of(arguments), ...);
    return call(keys, std::forward<A>(arguments)...);
  }
};

}  // namespace detail

// Names that a definition carries, for whoever looks for them: Tags{"pointwise", "core"}.
struct Tags {
  Tags(std::initializer_list<std::string_view> names) : names(names) {}
  std::vector<std::string_view> names;
};

// A schema or a name, with the place where it is written.
struct Placed {
  template <typename T>
  requires std::is_convertible_v<const T&, std::string_view> Placed(
      const T& text, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE())
      : text(text), file(file), line(line) {}
  std::string_view text;
  const char* file;
  unsigned line;
};

enum class BlockKind : uint32_t {
  kDef = OPYARD_BLOCK_DEF,
  kFragment = OPYARD_BLOCK_FRAGMENT,
  kImpl = OPYARD_BLOCK_IMPL
};

// Records what one OPYARD_LIBRARY* block declares, as plain C structs that the dispatcher of the
// host takes in one step (register_block). It checks nothing itself, so that errors look the same
// from libopyard and from plugins. Not thread-safe; lives until the records are taken.
class Library {
 public:
  Library(BlockKind kind, std::string_view name_space, std::string_view key,
          const char* file = __builtin_FILE(), unsigned line = __builtin_LINE());
  ~Library();
  Library(Library&&) noexcept;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Defines an operator: "add(Tensor self, Tensor other) -> Tensor". The namespace may be written.
  // More may follow, in any order: a kernel at the block's key, else CompositeImplicitAutograd,
  // from which the schema is inferred where `schema` is a name only; Tags; an AliasAnalysis.
  template <typename... More>
  Library& def(Placed schema, const More&... more) {
    begin_def(schema);
    (add_to_def(schema, more), ...);
    return *this;
  }

  // Gives an operator a kernel at a key; without one, at the block's, else at
  // CompositeImplicitAutograd.
  template <typename F>
  Library& impl(std::string_view op, F kernel, const char* file = __builtin_FILE(),
                unsigned line = __builtin_LINE()) {
    add_impl(op, {}, record_of(kernel), file, line);
    return *this;
  }
  template <typename F>
  Library& impl(std::string_view op, DispatchKey key, F kernel, const char* file = __builtin_FILE(),
                unsigned line = __builtin_LINE()) {
    add_impl(op, to_string(key), record_of(kernel), file, line);
    return *this;
  }
  // The same, replacing another kernel on purpose: no warning.
  template <typename F>
  Library& override_impl(std::string_view op, F kernel, const char* file = __builtin_FILE(),
                         unsigned line = __builtin_LINE()) {
    add_impl(op, {}, record_of(kernel), file, line, OPYARD_OVERRIDES);
    return *this;
  }
  template <typename F>
  Library& override_impl(std::string_view op, DispatchKey key, F kernel,
                         const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    add_impl(op, to_string(key), record_of(kernel), file, line, OPYARD_OVERRIDES);
    return *this;
  }

  // A kernel for every operator that has none at the block's key; on namespace "_" only.
  template <typename F>
  Library& fallback(F kernel, const char* file = __builtin_FILE(),
                    unsigned line = __builtin_LINE()) {
    add_fallback(record_of(kernel), file, line);
    return *this;
  }
  // Names the kernel registered last, instead of its place.
  Library& label(std::string_view label);

  // The records; valid as long as this object, until the next change.
  const opyard_block& block() const;

 private:
  struct KernelRecord {
    const void* typed = nullptr;
    const void* checked = nullptr;  // the same for devices of plugins; null: there is no other
    BoxedFn boxed = nullptr;
    void* self = nullptr;
    SignatureInfo signature{};
    uint32_t flags = OPYARD_CXX_KERNEL;
  };
  struct State;

  static KernelRecord record_of(Fallthrough) { return {.flags = OPYARD_FALLTHROUGH}; }
  static KernelRecord record_of(PassDown);
  static KernelRecord record_of(BoxedKernel kernel) {
    return {.boxed = kernel.function, .self = kernel.self};
  }
  template <typename F>
  static KernelRecord record_typed(SignatureInfo signature, F* function, F* checked = nullptr) {
    return {.typed = reinterpret_cast<const void*>(function),
            .checked = reinterpret_cast<const void*>(checked),
            .boxed = signature.boxed,
            .signature = signature};
  }
  // A function R(Keys, A…) given by its address at run time.
  template <typename R, typename... A>
  static KernelRecord record_of(R (*function)(Keys, A...)) {
    return record_typed(SignatureOf<R(A...)>::info(), function);
  }
  template <typename F, typename Traits>
  static KernelRecord record_guarded() {
    using Signature = typename Traits::Signature;
    return record_typed(SignatureOf<Signature>::info(),
                        &detail::Guarded<F, Traits, Signature>::call,
                        &detail::Guarded<F, Traits, Signature>::call_checked);
  }
  template <auto Function>
  static KernelRecord record_of(Fn<Function>) {
    return record_guarded<Fn<Function>, KernelTraits<decltype(Function)>>();
  }
  template <typename F>
  requires requires { &F::operator(); }
  static KernelRecord record_of(F) {
    static_assert(std::is_empty_v<F>, "a kernel lambda captures nothing");
    return record_guarded<F, KernelTraits<decltype(&F::operator())>>();
  }

  void begin_def(const Placed& schema);
  void add_to_def(const Placed& schema, const Tags& tags);
  void add_to_def(const Placed& schema, AliasAnalysis kind);
  template <typename F>
  void add_to_def(const Placed& schema, const F& kernel) {
    add_def_kernel(schema, record_of(kernel));
  }
  void add_def_kernel(const Placed& schema, const KernelRecord& kernel);
  void add_impl(std::string_view op, std::string_view key, const KernelRecord& kernel,
                const char* file, unsigned line, uint32_t flags = 0);
  void add_fallback(const KernelRecord& kernel, const char* file, unsigned line);

  State* state_;
};

// One block in the section that OPYARD_REGISTER_HERE walks.
struct LibraryRecord {
  void (*fill)(Library&);
  const char* name_space;
  const char* key;
  const char* file;
  uint32_t line;
  uint32_t kind;
};

// The blocks of one shared object or executable, in link order.
struct LibraryRange {
  const LibraryRecord* begin;
  const LibraryRecord* end;
};

// Runs every block of a range; entries without a fill function are skipped.
std::vector<Library> run_blocks(LibraryRange range);

}  // namespace opyard

// The records' alignment is said, or compilers raise it for speed and leave gaps between them.
#define OPYARD_CONCAT_(a, b) a##b
#define OPYARD_CONCAT(a, b) OPYARD_CONCAT_(a, b)
#define OPYARD_BLOCK_(kind, ns, key, m, id)                                                      \
  static void OPYARD_CONCAT(opyard_fill_, id)(::opyard::Library & m);                            \
  [[gnu::used, gnu::retain, gnu::section("opyard_library"),                                      \
    gnu::aligned(alignof(                                                                        \
        ::opyard::LibraryRecord))]] static ::opyard::LibraryRecord OPYARD_CONCAT(opyard_record_, \
                                                                                 id) = {         \
      &OPYARD_CONCAT(opyard_fill_, id), ns, key, __FILE__, __LINE__, kind};                      \
  static void OPYARD_CONCAT(opyard_fill_, id)([[maybe_unused]] ::opyard::Library & m)

// OPYARD_LIBRARY(ns, m) { m.def("…"); m.impl("…", …); }: definitions of a namespace, once each.
#define OPYARD_LIBRARY(ns, m) OPYARD_BLOCK_(OPYARD_BLOCK_DEF, #ns, "", m, __COUNTER__)
// More definitions of a namespace that may stand elsewhere too.
#define OPYARD_LIBRARY_FRAGMENT(ns, m) OPYARD_BLOCK_(OPYARD_BLOCK_FRAGMENT, #ns, "", m, __COUNTER__)
// Kernels of a namespace at a key; on namespace _ fallbacks.
#define OPYARD_LIBRARY_IMPL(ns, key, m) OPYARD_BLOCK_(OPYARD_BLOCK_IMPL, #ns, #key, m, __COUNTER__)

// The blocks that were linked into this shared object or executable, as a LibraryRange. Use it
// once, at namespace scope: it defines opyard_blocks_here(). It emits one empty record, so that the
// section exists.
#define OPYARD_BLOCKS_HERE()                                                                       \
  extern "C"                                                                                       \
      __attribute__((visibility("hidden"))) ::opyard::LibraryRecord __start_opyard_library[];      \
  extern "C"                                                                                       \
      __attribute__((visibility("hidden"))) ::opyard::LibraryRecord __stop_opyard_library[];       \
  [[gnu::used, gnu::retain, gnu::section("opyard_library"),                                        \
    gnu::aligned(                                                                                  \
        alignof(::opyard::LibraryRecord))]] static ::opyard::LibraryRecord opyard_empty_record = { \
      nullptr, "", "", __FILE__, __LINE__, 0};                                                     \
  static ::opyard::LibraryRange opyard_blocks_here() {                                             \
    return {__start_opyard_library, __stop_opyard_library};                                        \
  }
