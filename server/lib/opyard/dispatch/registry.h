#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "opyard/base/thread_annotations.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard {

// Name → entry, as of one root. Immutable.
class NameIndex {
 public:
  struct Item {
    const OperatorEntry* entry;
    bool defined;
  };
  const Item* find(std::string_view name) const {
    const auto found = items_.find(name);
    return found == items_.end() ? nullptr : &found->second;
  }
  const std::unordered_map<std::string_view, Item>& items() const noexcept { return items_; }

 private:
  friend class Registry;
  std::unordered_map<std::string_view, Item> items_;
};

// One thing that was registered, to be undone.
struct Change {
  enum class Kind : uint8_t { kNamespace, kDef, kImpl, kFallback } kind;
  OperatorEntry* entry = nullptr;
  DispatchKey key = DispatchKey::Undefined;
  KernelPtr kernel;
  std::string name_space;
};

// The writing side of a dispatcher: what is registered, and the root that is published from it.
// Inside the library only. All registration happens under one mutex; readers use the root.
class Registry {
 public:
  Registry(Dispatcher& dispatcher, bool built_in_fallbacks);
  ~Registry();

  std::vector<Change> add(ArrayRef<opyard_block> blocks, const Origin& origin);
  void remove(const std::vector<Change>& changes) noexcept;
  void declare_structured(std::string_view internal_op, ArrayRef<StructuredForm> forms);
  void bind(ArrayRef<const OpHandleBase*> handles);
  void check_signature(const OperatorEntry& entry, const SignatureInfo& signature);

  // Puts this registry's root where static handles look for it. Once, before any call.
  void make_global();
  const std::atomic<const Root*>& root() const noexcept { return *root_; }
  std::string dump_state(std::string_view name);
  std::string dump_computed_table(const OperatorEntry& entry);
  void check_invariants();
  const OperatorEntry* kernel_op(const OperatorEntry& entry);
  // The kernel at the key itself, alias keys too, else the key's fallback; null when there is none.
  KernelPtr direct_kernel(const OperatorEntry& entry, DispatchKey key);
  // The next older kernel below one that is registered; null when there is none.
  KernelPtr shadowed_by(const OperatorEntry& entry, const Kernel& kernel);
  std::vector<std::string> dangling_impls();
  uint64_t add_listener(OperatorListener listener);
  void remove_listener(uint64_t id) noexcept;

 private:
  // A definition that came or went, to be told.
  struct Event {
    OperatorEntry* entry;
    bool is_defined;
    uint64_t newest_listener;  // later ones have been told, or will be, of the state that they met
    std::shared_ptr<const OperatorListener> only;  // null: for all
  };

  // One set of blocks that is being added; undone as a whole when something is refused.
  struct Batch {
    std::vector<Change> changes;
    const Origin& origin;
    const opyard_block* block = nullptr;
    std::vector<OperatorEntry*> new_signatures{};
    // Entries whose kernels moved on to one of another schema.
    std::vector<std::pair<OperatorEntry*, OperatorEntry*>> moves{};
  };

  std::vector<Change> add_locked(ArrayRef<opyard_block> blocks, const Origin& origin)
      OPYARD_EXCLUDES(mutex_);
  void add_block(Batch& batch, const opyard_block& block) OPYARD_REQUIRES(mutex_);
  void add_one(Batch& batch, const opyard_registration& registration) OPYARD_REQUIRES(mutex_);
  void add_def(Batch& batch, const opyard_registration& registration) OPYARD_REQUIRES(mutex_);
  void add_impl(Batch& batch, const opyard_registration& registration) OPYARD_REQUIRES(mutex_);
  void add_fallback(Batch& batch, const opyard_registration& registration) OPYARD_REQUIRES(mutex_);
  void put_kernel(Batch& batch, OperatorEntry& entry, DispatchKey key, KernelPtr kernel)
      OPYARD_REQUIRES(mutex_);
  void put_forms(Batch& batch, OperatorEntry& internal, DispatchKey key, const Kernel& kernel)
      OPYARD_REQUIRES(mutex_);
  void undo(const Change& change) OPYARD_REQUIRES(mutex_);
  DispatchKey key_for(const Batch& batch, const opyard_registration& registration)
      OPYARD_REQUIRES(mutex_);
  std::string qualified_name(const Batch& batch, std::string_view written) OPYARD_REQUIRES(mutex_);
  void fix_signature(OperatorEntry& entry, const SignatureInfo& signature, const std::string& place)
      OPYARD_REQUIRES(mutex_);
  void check_schema(const OperatorEntry& entry, const FunctionSchema& declared,
                    const Kernel& kernel, const std::string& declared_at) OPYARD_REQUIRES(mutex_);

  OperatorEntry& entry_for(const std::string& name) OPYARD_REQUIRES(mutex_);
  OperatorEntry& entry_for_schema(Batch& batch, const std::string& name,
                                  const FunctionSchema& schema) OPYARD_REQUIRES(mutex_);
  void move_kernels(OperatorEntry& from, OperatorEntry& to) OPYARD_REQUIRES(mutex_);
  void undo_batch(Batch& batch) OPYARD_REQUIRES(mutex_);
  // Unless a typed kernel or a static handle vouches for it: when the last typed kernel goes (its
  // glue may be a plugin's), when nothing is left, and before a new definition.
  void forget_signature(OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  // Its signature does not fit the schema that it was defined with last.
  bool may_be_misread(const OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  OperatorEntry& new_entry(const std::string& name) OPYARD_REQUIRES(mutex_);
  void set_schema(OperatorEntry& entry, const FunctionSchema& schema) OPYARD_REQUIRES(mutex_);

  void put_built_in_fallbacks() OPYARD_REQUIRES(mutex_);
  OperatorTable* build_table(const OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  void touch(OperatorEntry& entry) OPYARD_REQUIRES(mutex_) { dirty_.insert(&entry); }
  void touch_all() OPYARD_REQUIRES(mutex_);
  std::shared_ptr<const NameIndex> build_index() OPYARD_REQUIRES(mutex_);
  void publish() OPYARD_REQUIRES(mutex_);
  void check_bound() OPYARD_REQUIRES(mutex_);
  void tell_listeners() OPYARD_EXCLUDES(mutex_);
  void note_event(OperatorEntry& entry, bool is_defined) OPYARD_REQUIRES(mutex_) {
    events_.push_back({&entry, is_defined, next_listener_, nullptr});
  }
  // Takes the next events to be told; false when there are none, or somebody else tells.
  using Listeners = std::map<uint64_t, std::shared_ptr<const OperatorListener>>;
  bool take_events(std::vector<Event>& events, Listeners& listeners) OPYARD_EXCLUDES(mutex_);

  Dispatcher& dispatcher_;
  std::atomic<const Root*> own_root_{nullptr};
  std::atomic<const Root*>* root_;  // own_root_, or global_root
  Mutex mutex_;
  std::vector<std::unique_ptr<OperatorEntry>> entries_ OPYARD_GUARDED_BY(mutex_);
  // The entry that a name means now, and all that it ever meant.
  std::map<std::string, OperatorEntry*> current_ OPYARD_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<OperatorEntry*>> history_ OPYARD_GUARDED_BY(mutex_);
  std::map<std::string, std::string> namespaces_ OPYARD_GUARDED_BY(mutex_);  // DEF blocks: place
  Fallbacks fallbacks_ OPYARD_GUARDED_BY(mutex_);
  // Events wait here until the mutex is free; one thread at a time tells them.
  std::vector<Event> events_ OPYARD_GUARDED_BY(mutex_);
  bool telling_ OPYARD_GUARDED_BY(mutex_) = false;
  Listeners listeners_ OPYARD_GUARDED_BY(mutex_);
  uint64_t next_listener_ OPYARD_GUARDED_BY(mutex_) = 0;
  std::set<OperatorEntry*> dirty_ OPYARD_GUARDED_BY(mutex_);
  bool names_changed_ OPYARD_GUARDED_BY(mutex_) = true;
  KernelPtr missing_;
  KernelPtr ambiguous_;
  KernelPtr gone_;
};

// Kernels that only raise (errors.cc); they see the call that failed.
void raise_missing(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue*, uint32_t);
void raise_ambiguous(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue*, uint32_t);
// Stands for a typed kernel of any signature; takes no look at what it is called with.
[[noreturn]] void raise_unbound();
void raise_gone(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue*, uint32_t);
void raise_meta(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue*, uint32_t);
void raise_fallthrough(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t);
// Boxed form of the pass-down fallback.
void pass_down_boxed(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                     uint32_t n_out);
// Calls a kernel of the C interface and turns its status into an Error.
void call_c_kernel(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                   uint32_t n_out);

// Sends a boxed call to the kernel that its keys select.
inline void invoke_boxed(CallLabel label, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                         uint32_t n_out) {
  const Kernel& kernel = keys.table->kernel(keys.set);
  if (calls_are_observed()) [[unlikely]] {
    const ObservedCall call(label, keys);
    kernel.boxed(kernel, keys, in, n_in, out, n_out);
    return;
  }
  kernel.boxed(kernel, keys, in, n_in, out, n_out);
}

inline std::string to_std(opyard_str text) {
  return text.size ? std::string(text.data, text.size) : std::string();
}

}  // namespace opyard
