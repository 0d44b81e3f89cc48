#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/core/stack.h"
#include "opyard/dispatch/explain.h"
#include "opyard/dispatch/handle.h"
#include "opyard/dispatch/library.h"
#include "opyard/dispatch/operator_entry.h"

namespace opyard {

class Registry;

// Where registrations come from; shown by explain.
struct Origin {
  std::string plugin = "opyard";
  uint64_t generation = 0;  // plugins count from 1

  // The library, or the program that it is linked into.
  bool is_library() const noexcept { return generation == 0 && plugin == "opyard"; }
};

// Undoes what it stands for when it dies, in one publication. May outlive the dispatcher. Any
// thread; never waits for calls.
class Registration {
 public:
  Registration() noexcept = default;
  ~Registration() { reset(); }
  Registration(Registration&&) noexcept = default;
  Registration& operator=(Registration&& other) noexcept;
  void reset() noexcept { withdraw(); }
  // The same; false when there was no memory for new tables: the log says so, and calls may reach
  // what was registered until Dispatcher::synchronize() or the next registration makes up for it.
  bool withdraw() noexcept;
  explicit operator bool() const noexcept { return changes_ != nullptr; }

 private:
  friend class Dispatcher;
  struct Changes;
  std::unique_ptr<Changes, void (*)(Changes*)> changes_{nullptr, nullptr};
};

// A kernel that somebody keeps in order to call it, such as the one that an override shadows. Keeps
// the record alive, not the registration: a call after that has gone raises FAILED_PRECONDITION,
// but within a call that began before, which sees what it began with.
class KernelHandle {
 public:
  KernelHandle(OperatorHandle op, KernelPtr kernel) noexcept
      : op_(op), kernel_(std::move(kernel)) {}
  const std::string& label() const noexcept { return kernel_->debug; }
  bool valid() const noexcept { return kernel_->registered.load(std::memory_order_acquire); }
  // Calls just this kernel: no keys are computed, nobody is told.
  void call_boxed(Keys keys, const IValue* in, uint32_t n_in, IValue* out, uint32_t n_out) const;
  // The same, typed; the signature must be that of the operator's kernels.
  template <typename R, typename... A>
  R call(Keys keys, A... arguments) const {
    const PinnedRoot pin(op_.entry().holder());
    check(SignatureOf<R(A...)>::info());
    if (!kernel_->typed) {
      return call_kernel_boxed<R, A...>(*kernel_, keys, std::forward<A>(arguments)...);
    }
    const auto function = reinterpret_cast<R (*)(Keys, A...)>(const_cast<void*>(kernel_->typed));
    return function(keys, std::forward<A>(arguments)...);
  }

 private:
  void check_registered() const;
  void check(const SignatureInfo& signature) const;

  OperatorHandle op_;
  KernelPtr kernel_;
};

// Told when an operator gets its definition and when it loses it; not for kernels or fallbacks.
// Called after the change can be seen, in order, by one thread at a time (which may be another than
// the one that registered). No lock is held, so a listener may register, too.
struct OperatorListener {
  std::function<void(OperatorHandle)> defined;
  std::function<void(OperatorHandle)> undefined;
};

class ListenerRegistration {
 public:
  ListenerRegistration() noexcept = default;
  ~ListenerRegistration() { reset(); }
  ListenerRegistration(ListenerRegistration&& other) noexcept;
  ListenerRegistration& operator=(ListenerRegistration&& other) noexcept;
  void reset() noexcept;

 private:
  friend class Dispatcher;
  std::weak_ptr<Registry> registry_;
  uint64_t id_ = 0;
};

// A public form of a structured operator: its wrapper stands at every key at which the internal
// operator has a kernel.
struct StructuredForm {
  const char* public_op;  // "aten::add_.Tensor"
  const void* wrapper;    // R(*)(Keys, A…)
  SignatureInfo signature;
};

// The operators of a process (or of a test): who is called for which keys. Registration and calls
// may race; every method may be called from any thread. A call that is under way goes on with the
// tables it started with.
class Dispatcher {
 public:
  static Dispatcher& global();

  // Without the built-in fallbacks every key without a kernel is missing.
  explicit Dispatcher(bool built_in_fallbacks = true);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Takes whole blocks in one publication: all of them, or nothing and an error that says which
  // block at which place was refused and why.
  Registration register_blocks(ArrayRef<opyard_block> blocks, const Origin& origin = {});
  Registration register_libraries(const std::vector<Library>& libraries, const Origin& origin = {});
  // For one block written in place: `fill` gets an empty Library.
  Registration register_block(BlockKind kind, std::string_view name_space, std::string_view key,
                              const std::function<void(Library&)>& fill,
                              const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE());

  // Exchanges what `registration` stands for, in one publication: calls see the old kernels or the
  // new ones. A kernel that is registered anew keeps the place that the old one had among the
  // overrides of its key, others are taken away or put on top; an operator that is defined in the
  // same words never goes. Everything is judged as if the old blocks had left already. When
  // something is refused, an error is raised and the old registration stands as it was.
  void replace(Registration& registration, ArrayRef<opyard_block> blocks,
               const Origin& origin = {});
  void replace(Registration& registration, const std::vector<Library>& libraries,
               const Origin& origin = {});

  // Ties public operators to an internal one; all must be defined. Before its kernels arrive; takes
  // the place of an earlier declaration.
  void declare_structured(std::string_view internal_op, ArrayRef<StructuredForm> forms);
  // Fixes the C++ signatures of operators and gives static handles their place, in one publication.
  // Global dispatcher only.
  void bind_handles(ArrayRef<const OpHandleBase*> handles);

  // By full name, "aten::add.Tensor". find: defined operators; find_op: also those with kernels
  // only; get: raises NOT_FOUND naming the nearest.
  std::optional<OperatorHandle> find(std::string_view name) const;
  std::optional<OperatorHandle> find_op(std::string_view name) const;
  OperatorHandle get(std::string_view name) const;
  // Names of defined operators with this beginning, sorted.
  std::vector<std::string> list(std::string_view prefix = {}) const;
  std::vector<std::string> nearest(std::string_view name, size_t count = 3) const;

  // Replaces the operator's arguments on the top of the stack by its results. The values must fit
  // the schema in number; types are checked as kernels read them.
  void call_boxed(OperatorHandle op, Stack& stack) const;
  void redispatch_boxed(OperatorHandle op, KeySet keys, Stack& stack) const;
  void call_boxed(OperatorHandle op, const IValue* in, uint32_t n_in, IValue* out,
                  uint32_t n_out) const;

  // Calls the kernel registered at `key` itself (alias keys too), else the key's fallback, with the
  // keys that the call would have anyway; composites are not consulted, nobody is told. Raises
  // UNIMPLEMENTED when nothing stands there.
  void call_boxed_for_key(OperatorHandle op, DispatchKey key, Stack& stack) const;

  // The kernel that the operator's table holds at a runtime key; NOT_FOUND when it only raises
  // there.
  KernelHandle kernel(OperatorHandle op, DispatchKey key) const;
  // For an override: the kernel that it covers. Give the Keys that the kernel was called with.
  KernelHandle shadowed_kernel(Keys keys) const;

  // A typed call by name, for tests and dynamic code. Raises INVALID_ARGUMENT ("mismatch") when the
  // operator has another C++ signature.
  template <typename R, typename... A>
  R call(OperatorHandle op, A... arguments) const {
    const PinnedRoot pin(op.entry().holder());
    const OperatorTable* table = typed_table(op, SignatureOf<R(A...)>::info());
    if (!table->signature) [[unlikely]] {
      const Keys keys = call_keys(table, arguments...);
      return call_boxed_only<R, A...>(CallLabel::kCall, keys, std::forward<A>(arguments)...);
    }
    return start_call<R, A...>(pin, table, std::forward<A>(arguments)...);
  }
  template <typename R, typename... A>
  R redispatch(OperatorHandle op, KeySet keys, A... arguments) const {
    const PinnedRoot pin(op.entry().holder());
    const Keys keys_of_call{keys, typed_table(op, SignatureOf<R(A...)>::info())};
    if (!keys_of_call.table->signature) [[unlikely]] {
      return call_boxed_only<R, A...>(CallLabel::kRedispatch, keys_of_call,
                                      std::forward<A>(arguments)...);
    }
    return invoke<R, A...>(keys_of_call, std::forward<A>(arguments)...);
  }

  // Operators with kernels and no definition, sorted.
  std::vector<std::string> dangling_impls() const;
  // `listener.defined` is told first of every operator that is defined already.
  [[nodiscard]] ListenerRegistration add_listener(OperatorListener listener);

  // Which kernel a call with these argument keys would reach, and why.
  Explanation explain(OperatorHandle op, KeySet argument_keys) const;
  Explanation explain(OperatorHandle op, const IValue* in, uint32_t n_in) const;

  // The stored table, a row per slot, Undefined first.
  std::vector<TableRow> table(OperatorHandle op) const;
  // Registrations in the reference's line format; empty for an unknown operator.
  std::string dump_state(std::string_view name) const;
  std::string dump_computed_table(OperatorHandle op) const;
  // Raises INTERNAL when a stored table differs from the resolved one.
  void check_invariants() const;

  // Waits until what was unregistered before has been freed; refused within a call. First makes up
  // for publications for which memory was short; raises RESOURCE_EXHAUSTED when it still is: what
  // was unregistered may be called then.
  void synchronize() const;
  // Number of publications so far.
  uint64_t generation() const;

 private:
  friend class KernelHandle;
  friend class Registration;
  // With a pinned root.
  const OperatorTable* table_of(const OperatorEntry& entry) const noexcept {
    const Root* root = thread_state.root;
    // Other dispatchers, and operators that were defined after the pin.
    if (root_ != &global_root || entry.index() >= root->size) [[unlikely]]
      root = root_->load(std::memory_order_acquire);
    return root->table(entry.index());
  }
  // The operator has no typed functions, so the caller boxes: it leaves none of its code in tables.
  template <typename R, typename... A>
  static R call_boxed_only(CallLabel label, Keys keys, A... arguments) {
    std::optional<ObservedCall> observed;
    if (calls_are_observed()) observed.emplace(label, keys);
    return call_boxed_kernel<R, A...>(keys, std::forward<A>(arguments)...);
  }
  void call_boxed_attended(OperatorHandle op, const IValue* in, uint32_t n_in, IValue* out,
                           uint32_t n_out) const;
  const Root& root_of(const PinnedRoot& pin) const noexcept;
  // The table of a typed call, which fits its typed functions; where there are none (no signature
  // is known), the schema. With a pinned root.
  const OperatorTable* typed_table(OperatorHandle op, const SignatureInfo& signature) const;

  std::shared_ptr<Registry> registry_;
  const std::atomic<const Root*>* root_;  // the registry's own, or global_root
};

}  // namespace opyard
