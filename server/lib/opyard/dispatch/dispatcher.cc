#include "opyard/dispatch/dispatcher.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "opyard/base/check.h"
#include "opyard/base/nearest.h"
#include "opyard/base/no_destructor.h"
#include "opyard/dispatch/registry.h"

namespace opyard {
namespace {

// static handles read global_root without asking whether it is there.
[[maybe_unused]] const Dispatcher& booted = Dispatcher::global();

std::vector<opyard_block> blocks_of(const std::vector<Library>& libraries) {
  std::vector<opyard_block> blocks;
  for (const Library& library : libraries) blocks.push_back(library.block());
  return blocks;
}

}  // namespace

struct Registration::Changes {
  std::weak_ptr<Registry> registry;
  std::vector<Change> list;

  static void destroy(Changes* changes) { delete changes; }
};

Registration& Registration::operator=(Registration&& other) noexcept {
  reset();
  changes_ = std::move(other.changes_);
  return *this;
}
bool Registration::withdraw() noexcept {
  if (!changes_) return true;
  const auto registry = changes_->registry.lock();
  const bool published = !registry || registry->remove(changes_->list);
  changes_.reset();
  return published;
}

const FunctionSchema& OperatorHandle::schema() const {
  const FunctionSchema* schema = entry_->schema();
  OPYARD_CHECK(schema != nullptr, kFailedPrecondition, "the operator '", name(),
               "' has kernels but no definition; did you forget to def() it?");
  return *schema;
}

const Attributes& OperatorHandle::attributes() const {
  schema();
  return *entry_->attributes();
}

Dispatcher& Dispatcher::global() {
  static NoDestructor<Dispatcher> dispatcher;
  [[maybe_unused]] static const bool made_global = [] {
    dispatcher->registry_->make_global();
    // The child of a fork may go on registering: nobody is in the middle of it.
    pthread_atfork([] { dispatcher->registry_->lock_for_fork(); },
                   [] { dispatcher->registry_->unlock_after_fork(false); },
                   [] { dispatcher->registry_->unlock_after_fork(true); });
    dispatcher->root_ = &global_root;
    return true;
  }();
  return *dispatcher;
}

Dispatcher::Dispatcher(bool built_in_fallbacks)
    : registry_(std::make_shared<Registry>(*this, built_in_fallbacks)), root_(&registry_->root()) {}
Dispatcher::~Dispatcher() = default;

Registration Dispatcher::register_blocks(ArrayRef<opyard_block> blocks, const Origin& origin) {
  auto* changes = new Registration::Changes{registry_, {}};
  Registration registration;
  registration.changes_ = {changes, &Registration::Changes::destroy};
  changes->list = registry_->change({}, blocks, origin);
  return registration;
}

Registration Dispatcher::register_libraries(const std::vector<Library>& libraries,
                                            const Origin& origin) {
  return register_blocks(blocks_of(libraries), origin);
}

void Dispatcher::replace(Registration& registration, ArrayRef<opyard_block> blocks,
                         const Origin& origin) {
  if (!registration) {
    registration = register_blocks(blocks, origin);
    return;
  }
  Registration::Changes& changes = *registration.changes_;
  OPYARD_CHECK(changes.registry.lock() == registry_, kFailedPrecondition,
               "the registration that is to be replaced belongs to another dispatcher");
  changes.list = registry_->change(changes.list, blocks, origin);
}

void Dispatcher::replace(Registration& registration, const std::vector<Library>& libraries,
                         const Origin& origin) {
  replace(registration, blocks_of(libraries), origin);
}

Registration Dispatcher::register_block(BlockKind kind, std::string_view name_space,
                                        std::string_view key,
                                        const std::function<void(Library&)>& fill, const char* file,
                                        unsigned line) {
  Library library(kind, name_space, key, file, line);
  fill(library);
  return register_blocks(library.block());
}

void Dispatcher::declare_structured(std::string_view internal_op, ArrayRef<StructuredForm> forms) {
  registry_->declare_structured(internal_op, forms);
}

void Dispatcher::bind_handles(ArrayRef<const OpHandleBase*> handles) {
  OPYARD_CHECK(this == &global(), kFailedPrecondition,
               "static handles belong to the global dispatcher");
  registry_->bind(handles);
}

// The snapshot that the thread has pinned, so that a frame sees one set of names; a dispatcher of
// one's own has its newest.
const Root& Dispatcher::root_of(const PinnedRoot& pin) const noexcept {
  return root_ == &global_root ? pin.root() : *root_->load(std::memory_order_acquire);
}

std::optional<OperatorHandle> Dispatcher::find(std::string_view name) const {
  const PinnedRoot pin;
  const NameIndex::Item* item = root_of(pin).names->find(name);
  if (!item || !item->defined) return std::nullopt;
  return OperatorHandle(item->entry);
}

std::optional<OperatorHandle> Dispatcher::find_op(std::string_view name) const {
  const PinnedRoot pin;
  const NameIndex::Item* item = root_of(pin).names->find(name);
  return item ? std::optional(OperatorHandle(item->entry)) : std::nullopt;
}

OperatorHandle Dispatcher::get(std::string_view name) const {
  if (const auto found = find(name)) return *found;
  if (const auto found = find_op(name)) {
    found->schema();
    raise(Code::kFailedPrecondition,
          str_cat("the operator '", name.substr(0, 200),
                  "' has kernels, but its definition has gone; def() it again, or load the plugin "
                  "that does"));
  }
  std::string hint;
  for (const std::string& near : nearest(name)) {
    hint += (hint.empty() ? "" : ", ") + near.substr(0, 200);
  }
  raise(Code::kNotFound,
        str_cat("there is no operator '", name.substr(0, 200), "'",
                hint.empty() ? std::string() : str_cat("; the nearest names are ", hint)));
}

std::vector<std::string> Dispatcher::list(std::string_view prefix) const {
  const PinnedRoot pin;
  std::vector<std::string> names;
  root_of(pin).names->each([&](const NameIndex::Item& item) {
    const std::string& name = item.entry->name();
    if (item.defined && name.starts_with(prefix)) names.push_back(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Dispatcher::nearest(std::string_view name, size_t count) const {
  // A name without an overload is compared with names without theirs.
  std::vector<std::string> names = list();
  if (name.find('.') == std::string_view::npos) {
    for (std::string& each : names) each.resize(std::min(each.find('.'), each.size()));
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  std::erase_if(names, [](const std::string& each) { return each.starts_with("kernel::"); });
  return nearest_names(name, names, count);
}

const OperatorTable* Dispatcher::typed_table(OperatorHandle op,
                                             const SignatureInfo& signature) const {
  const OperatorTable* table = table_of(op.entry());
  check_typed_call(*table, signature);
  return table;
}

namespace {

inline Keys boxed_call_keys(const OperatorTable* table, const IValue* in, uint32_t n_in) {
  return {table->masked(with_thread_keys(boxed_keys(table->key_positions, in, n_in))), table};
}

}  // namespace

void Dispatcher::call_boxed(OperatorHandle op, const IValue* in, uint32_t n_in, IValue* out,
                            uint32_t n_out) const {
  const auto call = [&]() __attribute__((always_inline)) {
    const Keys keys = boxed_call_keys(table_of(op.entry()), in, n_in);
    const Kernel& kernel = keys.table->kernel(keys.set);
    kernel.boxed(kernel, keys, in, n_in, out, n_out);
  };
  if (epoch_domain.attention.load(std::memory_order_relaxed) == 0) [[likely]] {
    if (EpochSlot* slot = thread_state.slot) [[likely]] {
      if (slot->epoch.load(std::memory_order_relaxed) != 0) return call();
      const OutermostPin pin(*slot, op.entry().holder());
      return call();
    }
  }
  call_boxed_attended(op, in, n_in, out, n_out);
}

void Dispatcher::call_boxed_attended(OperatorHandle op, const IValue* in, uint32_t n_in,
                                     IValue* out, uint32_t n_out) const {
  const PinnedRoot pin(op.entry().holder());
  const Keys keys = boxed_call_keys(table_of(op.entry()), in, n_in);
  invoke_boxed(CallLabel::kCallBoxed, keys, in, n_in, out, n_out);
}

namespace {

// Runs `call(in, n_in, out, n_out)` on the top of a stack and puts the results in their place.
template <typename Call>
void on_stack(const FunctionSchema& schema, Stack& stack, Call call) {
  const size_t n_in = schema.arguments.size();
  OPYARD_CHECK(stack.size() >= n_in, kInvalidArgument, "the operator '", schema.full_name(),
               "' takes ", n_in, " arguments, got ", stack.size());
  IValue single;
  std::vector<IValue> several;
  const size_t n_out = schema.returns.size();
  if (n_out > 1) several.resize(n_out);
  IValue* out = n_out > 1 ? several.data() : &single;
  call(stack.data() + (stack.size() - n_in), static_cast<uint32_t>(n_in), out,
       static_cast<uint32_t>(n_out));
  stack.resize(stack.size() - n_in);
  for (size_t i = 0; i < n_out; ++i) stack.push_back(std::move(out[i]));
}

}  // namespace

void Dispatcher::call_boxed(OperatorHandle op, Stack& stack) const {
  on_stack(op.schema(), stack, [&](const IValue* in, uint32_t n_in, IValue* out, uint32_t n_out) {
    call_boxed(op, in, n_in, out, n_out);
  });
}

void Dispatcher::redispatch_boxed(OperatorHandle op, KeySet keys, Stack& stack) const {
  on_stack(op.schema(), stack, [&](const IValue* in, uint32_t n_in, IValue* out, uint32_t n_out) {
    const PinnedRoot pin(op.entry().holder());
    invoke_boxed(CallLabel::kRedispatchBoxed, Keys{keys, table_of(op.entry())}, in, n_in, out,
                 n_out);
  });
}

void Dispatcher::call_boxed_for_key(OperatorHandle op, DispatchKey key, Stack& stack) const {
  on_stack(op.schema(), stack, [&](const IValue* in, uint32_t n_in, IValue* out, uint32_t n_out) {
    const PinnedRoot pin(op.entry().holder());
    const KernelPtr kernel = registry_->direct_kernel(op.entry(), key);
    OPYARD_CHECK(kernel && kernel->kind != KernelKind::kFallthrough, kUnimplemented,
                 "no kernel for the operator '", op.name(), "' is registered at ", to_string(key),
                 " itself, nor a fallback");
    const Keys keys = boxed_call_keys(table_of(op.entry()), in, n_in);
    kernel->boxed(*kernel, keys, in, n_in, out, n_out);
  });
}

KernelHandle Dispatcher::kernel(OperatorHandle op, DispatchKey key) const {
  OPYARD_CHECK(!is_alias_key(key), kInvalidArgument, "the alias key ", to_string(key),
               " has no kernel of its own in a table; name a runtime key");
  const PinnedRoot pin;
  const Kernel* kernel = &table_of(op.entry())->kernel_at(slot_of(key));
  const bool computes = kernel->kind == KernelKind::kOrdinary && kernel->boxed != &raise_meta;
  OPYARD_CHECK(computes || kernel->kind == KernelKind::kPassDown, kNotFound,
               "no kernel for the operator '", op.name(), "' at ", to_string(key));
  return KernelHandle(op, KernelPtr::share(kernel));
}

KernelHandle Dispatcher::shadowed_kernel(Keys keys) const {
  const OperatorEntry& entry = keys.op();
  const Kernel& mine = keys.table->kernel(keys.set);
  KernelPtr older = shadowed_in(*keys.table, mine);
  OPYARD_CHECK(older, kNotFound, "the kernel of '", entry.name(), "' (", mine.debug,
               ") shadows no other one");
  return KernelHandle(OperatorHandle(&entry), std::move(older));
}

// A call goes on with what it began with: its root still has what was removed since.
void KernelHandle::check_registered() const {
  if (valid()) return;
  const OperatorEntry& entry = op_.entry();
  OPYARD_CHECK(has_kernel(*entry.dispatcher().table_of(entry), *kernel_), kFailedPrecondition,
               "the kernel of '", op_.name(), "' (", kernel_->debug,
               ") is no longer registered; fetch it anew");
}

void KernelHandle::check(const SignatureInfo& signature) const {
  check_registered();
  if (kernel_->typed && kernel_->signature == signature.mangled) return;
  op_.entry().dispatcher().typed_table(op_, signature);
  OPYARD_CHECK(!kernel_->typed, kInvalidArgument, "mismatch: the kernel of '", op_.name(), "' (",
               kernel_->debug, ") has the C++ signature '", demangle(kernel_->signature.c_str()),
               "', the call is '", demangle(signature.mangled), "'");
}

void KernelHandle::call_boxed(Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                              uint32_t n_out) const {
  const PinnedRoot pin(op_.entry().holder());
  check_registered();
  kernel_->boxed(*kernel_, keys, in, n_in, out, n_out);
}

std::vector<std::string> Dispatcher::dangling_impls() const { return registry_->dangling_impls(); }

ListenerRegistration::ListenerRegistration(ListenerRegistration&& other) noexcept
    : registry_(std::move(other.registry_)), id_(other.id_) {}
ListenerRegistration& ListenerRegistration::operator=(ListenerRegistration&& other) noexcept {
  reset();
  registry_ = std::move(other.registry_);
  id_ = other.id_;
  return *this;
}
void ListenerRegistration::reset() noexcept {
  if (const auto registry = registry_.lock()) registry->remove_listener(id_);
  registry_.reset();
}

ListenerRegistration Dispatcher::add_listener(OperatorListener listener) {
  ListenerRegistration registration;
  registration.registry_ = registry_;
  registration.id_ = registry_->add_listener(std::move(listener));
  return registration;
}

uint64_t Dispatcher::generation() const {
  const PinnedRoot pin;
  return root_of(pin).generation;
}
std::string Dispatcher::dump_state(std::string_view name) const {
  return registry_->dump_state(name);
}
std::string Dispatcher::dump_computed_table(OperatorHandle op) const {
  return registry_->dump_computed_table(op.entry());
}
void Dispatcher::synchronize() const {
  registry_->publish_pending();
  epoch::synchronize();
}

void Dispatcher::check_invariants() const { registry_->check_invariants(); }

}  // namespace opyard
