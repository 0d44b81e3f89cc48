#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "opyard/base/thread_annotations.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard {

// A definition that came or went, to be told.
struct OperatorEvent {
  OperatorEntry* entry;
  bool is_defined;
  uint64_t newest_listener;  // later ones have been told, or will be, of the state that they met
  std::shared_ptr<const OperatorListener> only;  // null: for all
};

// One thing that was registered, to be undone.
struct Change {
  enum class Kind : uint8_t { kNamespace, kDef, kImpl, kFallback } kind;
  OperatorEntry* entry = nullptr;
  DispatchKey key = DispatchKey::Undefined;
  KernelPtr kernel{};
  std::string name_space{};
  uint64_t owner = 0;  // of a definition
  // The event of a definition's end, made beforehand: removal needs no memory for it.
  std::list<OperatorEvent> farewell{};
};

// The writing side of a dispatcher: what is registered, and the root that is published from it.
// Inside the library only. All registration happens under one mutex; readers use the root.
class Registry {
 public:
  Registry(Dispatcher& dispatcher, bool built_in_fallbacks);
  ~Registry();

  // Takes the blocks in the place of what `old` stands for, in one publication: all of them, or
  // nothing has changed and an error is raised.
  std::vector<Change> change(const std::vector<Change>& old, ArrayRef<opyard_block> blocks,
                             const Origin& origin);
  // Needs no memory but for the publication. False when there was none: the publication is made up
  // for by the next change or by publish_pending().
  bool remove(std::vector<Change>& changes) noexcept;
  void publish_pending();
  void declare_structured(std::string_view internal_op, ArrayRef<StructuredForm> forms);
  void bind(ArrayRef<const OpHandleBase*> handles);

  // Puts this registry's root where static handles look for it. Once, before any call.
  void make_global();
  void lock_for_fork() OPYARD_ACQUIRE(mutex_) { mutex_.lock(); }
  void unlock_after_fork(bool in_child) OPYARD_RELEASE(mutex_) {
    if (in_child) telling_ = false;  // by a thread of the parent
    mutex_.unlock();
  }
  const std::atomic<const Root*>& root() const noexcept { return *root_; }
  std::string dump_state(std::string_view name);
  std::string dump_computed_table(const OperatorEntry& entry);
  void check_invariants();
  const OperatorEntry* kernel_op(const OperatorEntry& entry);
  // The kernel at the key itself, alias keys too, else the key's fallback; null when there is none.
  KernelPtr direct_kernel(const OperatorEntry& entry, DispatchKey key);
  std::vector<std::string> dangling_impls();
  uint64_t add_listener(OperatorListener listener);
  void remove_listener(uint64_t id) noexcept;

 private:
  using State = OperatorEntry::State;
  using Name = OperatorEntry::Name;
  struct Namespace {
    std::string plugin;
    std::string place;
  };
  using Namespaces = std::map<std::string, Namespace, std::less<>>;  // of DEF blocks

  // A change of what is registered that is being made. Everything is saved before it is touched,
  // and put back when something is refused.
  struct Batch {
    const Origin& origin;
    uint64_t number;
    size_t entries_before;
    const opyard_block* block = nullptr;  // being taken
    std::vector<Change> changes{};
    std::vector<KernelPtr> vacated{};     // kernels whose places may be taken
    std::vector<std::string> warnings{};  // told when all went well

    std::vector<std::pair<OperatorEntry*, State>> states{};
    std::vector<std::pair<Name*, OperatorEntry*>> meanings{};
    std::optional<Namespaces> namespaces{};
    std::optional<Fallbacks> fallbacks{};
  };
  struct Publication;
  using PublicationPtr = std::unique_ptr<Publication, void (*)(Publication*)>;
  using TablePtr = std::unique_ptr<const OperatorTable, void (*)(const OperatorTable*)>;
  // How an operator is called from C++; without `mangled` nothing is known.
  struct KnownSignature {
    const char* mangled = nullptr;
    const void* pass_down = nullptr;
    const void* from_typed = nullptr;
    const Kernel* owner = nullptr;  // of the name; null for what is bound
    std::string_view place{};

    const void* form_of(const Kernel& kernel) const;
  };

  // registry.cc: changes as a whole.
  std::vector<Change> change_locked(const std::vector<Change>& old, ArrayRef<opyard_block> blocks,
                                    const Origin& origin, std::vector<std::string>& warnings)
      OPYARD_EXCLUDES(mutex_);
  Batch new_batch(const Origin& origin) OPYARD_REQUIRES(mutex_);
  State& edit(Batch& batch, OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  Namespaces& edit_namespaces(Batch& batch) OPYARD_REQUIRES(mutex_);
  Fallbacks& edit_fallbacks(Batch& batch) OPYARD_REQUIRES(mutex_);
  void vacate(Batch& batch, const Change& change) OPYARD_REQUIRES(mutex_);
  void close_places(Batch& batch) OPYARD_REQUIRES(mutex_);
  void commit(Batch& batch) OPYARD_REQUIRES(mutex_);
  void roll_back(Batch& batch) noexcept OPYARD_REQUIRES(mutex_);
  void undo(Change& change) noexcept OPYARD_REQUIRES(mutex_);
  // A redefinition with another schema may have taken the kernel along to a newer entry.
  OperatorEntry* holder_of(const Change& change) noexcept OPYARD_REQUIRES(mutex_);

  // registry_records.cc: what the records say.
  void add_block(Batch& batch, const opyard_block& block) OPYARD_REQUIRES(mutex_);
  void add_one(Batch& batch, const opyard_registration& record) OPYARD_REQUIRES(mutex_);
  void add_def(Batch& batch, const opyard_registration& record) OPYARD_REQUIRES(mutex_);
  void add_impl(Batch& batch, const opyard_registration& record) OPYARD_REQUIRES(mutex_);
  void add_fallback(Batch& batch, const opyard_registration& record) OPYARD_REQUIRES(mutex_);
  void put_kernel(Batch& batch, OperatorEntry& entry, DispatchKey key, KernelPtr kernel)
      OPYARD_REQUIRES(mutex_);
  void put_forms(Batch& batch, OperatorEntry& internal, DispatchKey key, const Kernel& kernel)
      OPYARD_REQUIRES(mutex_);
  void put_built_in_fallbacks() OPYARD_REQUIRES(mutex_);

  // registry_entries.cc: operators, their definitions and signatures.
  OperatorEntry& new_entry(Name& name, const std::string& text) OPYARD_REQUIRES(mutex_);
  OperatorEntry& entry_for(Batch& batch, const std::string& name) OPYARD_REQUIRES(mutex_);
  OperatorEntry& entry_for_schema(Batch& batch, const std::string& name,
                                  const FunctionSchema& schema) OPYARD_REQUIRES(mutex_);
  OperatorEntry& defined_entry(const std::string& name) OPYARD_REQUIRES(mutex_);
  void check_owners(const OperatorEntry& entry, const FunctionSchema& schema,
                    const Attributes& attributes, const Origin& origin, const std::string& place)
      OPYARD_REQUIRES(mutex_);
  void check_schema(const OperatorEntry& entry, const FunctionSchema& declared,
                    const Kernel& kernel, const std::string& declared_at) OPYARD_REQUIRES(mutex_);
  KnownSignature signature_of(const OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  // It does not fit the schema that the operator was defined with last.
  bool may_be_misread(const OperatorEntry& entry, const KnownSignature& signature)
      OPYARD_REQUIRES(mutex_);
  void check_signature(const OperatorEntry& entry, const char* mangled, const std::string& place)
      OPYARD_REQUIRES(mutex_);
  void bind_signature(OperatorEntry& entry, const SignatureInfo& signature, std::string place)
      OPYARD_REQUIRES(mutex_);

  // publish.cc: tables and roots.
  TablePtr build_table(const OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  void touch(OperatorEntry& entry) noexcept OPYARD_REQUIRES(mutex_);
  void touch_all() noexcept OPYARD_REQUIRES(mutex_);
  void drop_entries_from(size_t count) noexcept OPYARD_REQUIRES(mutex_);
  // Builds what is to be published aside: nothing can fail after that.
  PublicationPtr prepare() OPYARD_REQUIRES(mutex_);
  void publish(PublicationPtr next) noexcept OPYARD_REQUIRES(mutex_);
  void publish() OPYARD_REQUIRES(mutex_);
  void retire_replaced() noexcept OPYARD_REQUIRES(mutex_);
  void check_bound() OPYARD_REQUIRES(mutex_);

  // dump.cc
  std::string dump_entry(const OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  std::string dump_resolved(const OperatorEntry& entry) OPYARD_REQUIRES(mutex_);
  void check_entry(const OperatorEntry& entry) OPYARD_REQUIRES(mutex_);

  // registry_queries.cc
  void tell_listeners() noexcept OPYARD_EXCLUDES(mutex_);
  void tell(const OperatorEvent& event, const OperatorListener& listener) noexcept;
  // Takes the next events to be told; false when there are none, or somebody else tells.
  using Listeners = std::map<uint64_t, std::shared_ptr<const OperatorListener>>;
  bool take_events(std::list<OperatorEvent>& events, Listeners& listeners) OPYARD_EXCLUDES(mutex_);

  Dispatcher& dispatcher_;
  std::atomic<const Root*> own_root_{nullptr};
  std::atomic<const Root*>* root_;  // own_root_, or global_root
  Mutex mutex_;
  std::vector<std::unique_ptr<OperatorEntry>> entries_ OPYARD_GUARDED_BY(mutex_);
  std::map<std::string, Name, std::less<>> names_ OPYARD_GUARDED_BY(mutex_);
  Namespaces namespaces_ OPYARD_GUARDED_BY(mutex_);
  Fallbacks fallbacks_ OPYARD_GUARDED_BY(mutex_);
  std::set<Attributes> attributes_ OPYARD_GUARDED_BY(mutex_);  // entries point to them
  OperatorEntry* dirty_ OPYARD_GUARDED_BY(mutex_) = nullptr;
  struct Replaced;
  Replaced* replaced_ OPYARD_GUARDED_BY(mutex_) = nullptr;  // not yet given to the reclaimer
  uint64_t last_batch_ OPYARD_GUARDED_BY(mutex_) = 0;
  uint64_t last_owner_ OPYARD_GUARDED_BY(mutex_) = 0;
  // Events wait here until the mutex is free; one thread at a time tells them.
  std::list<OperatorEvent> events_ OPYARD_GUARDED_BY(mutex_);
  bool telling_ OPYARD_GUARDED_BY(mutex_) = false;
  Listeners listeners_ OPYARD_GUARDED_BY(mutex_);
  uint64_t next_listener_ OPYARD_GUARDED_BY(mutex_) = 0;
};

// Raises INVALID_ARGUMENT ("mismatch") unless a typed call with this signature fits the table.
void check_typed_call(const OperatorTable& table, const SignatureInfo& signature);

// The next older kernel below `kernel` as the table's snapshot has it; null when there is none.
KernelPtr shadowed_in(const OperatorTable& table, const Kernel& kernel);
// The kernel may be called by whoever sees this table.
bool has_kernel(const OperatorTable& table, const Kernel& kernel) noexcept;

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
// The same for one function for any signature of a plugin in C++: what leaves it is an Error.
void call_guarded_kernel(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
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
