#include "opyard/dispatch/registry.h"

#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace opyard {
namespace {

std::string place_of(opyard_str file, uint32_t line) {
  return str_cat("registered at ", to_std(file), ":", line);
}

std::string_view block_name(uint32_t kind) {
  switch (kind) {
    case OPYARD_BLOCK_DEF:
      return "OPYARD_LIBRARY";
    case OPYARD_BLOCK_FRAGMENT:
      return "OPYARD_LIBRARY_FRAGMENT";
    default:
      return "OPYARD_LIBRARY_IMPL";
  }
}

std::string describe_block(const opyard_block& block) {
  return str_cat("while processing ", block_name(block.kind), " of namespace '",
                 to_std(block.name_space), "' at ", to_std(block.file), ":", block.line);
}

// Refuses keys that no call could ever reach.
void check_reachable(DispatchKey key) {
  OPYARD_CHECK(key != DispatchKey::Undefined, kInvalidArgument,
               "no kernel can be registered at Undefined; use CompositeImplicitAutograd (CatchAll) "
               "to serve calls without tensors too");
  if (!is_building_block(key)) return;
  std::string meant;
  for (const Backend backend : {Backend::kCPU, Backend::kCUDA, Backend::kMeta}) {
    meant += to_string(runtime_key(key, backend)) + ", ";
  }
  raise(Code::kInvalidArgument, str_cat("the key ", to_string(key),
                                        " is a building block and no call would reach a kernel "
                                        "there; name it together with a backend: ",
                                        meant, "…"));
}

// The C++ parts of a record are pointers to types of this build: nothing reads them unless the
// record says that they are.
void check_cxx_parts(const opyard_registration& record) {
  const bool any = record.typed || record.cxx_boxed || record.signature || record.tags;
  OPYARD_CHECK((record.flags & OPYARD_CXX_KERNEL) || !any, kInvalidArgument, "the record for '",
               to_std(record.text),
               "' sets typed, cxx_boxed, signature or tags without the flag OPYARD_CXX_KERNEL");
  OPYARD_CHECK(!record.typed || record.signature, kInvalidArgument, "the kernel for '",
               to_std(record.text), "' is typed, but has no signature");
}

KernelPtr make_kernel(const opyard_registration& record, const Origin& origin) {
  check_cxx_parts(record);
  auto* kernel = new Kernel;
  KernelPtr owner = KernelPtr::adopt(kernel);
  kernel->typed = record.typed;
  kernel->self = record.self;
  kernel->overrides = record.flags & OPYARD_OVERRIDES;
  kernel->schema = to_std(record.schema);
  kernel->plugin = origin.plugin;
  kernel->generation = origin.generation;
  kernel->place = place_of(record.file, record.line);
  kernel->debug = record.debug.size ? to_std(record.debug) : kernel->place;
  if (record.signature) {
    kernel->signature = static_cast<const SignatureInfo*>(record.signature)->mangled;
  }
  if (record.flags & OPYARD_FALLTHROUGH) {
    kernel->kind = KernelKind::kFallthrough;
    kernel->boxed = &raise_fallthrough;
  } else if (record.flags & OPYARD_PASS_DOWN) {
    kernel->kind = KernelKind::kPassDown;
    kernel->boxed = &pass_down_boxed;
  } else if (record.flags & OPYARD_CXX_KERNEL) {
    kernel->boxed = reinterpret_cast<BoxedFn>(const_cast<void*>(record.cxx_boxed));
  } else {
    kernel->boxed = &call_c_kernel;
    kernel->c_boxed = record.boxed;
  }
  OPYARD_CHECK(kernel->boxed && (kernel->boxed != &call_c_kernel || kernel->c_boxed),
               kInvalidArgument, "the kernel for '", to_std(record.text), "' has no function");
  return owner;
}

bool same_function(const Kernel& a, const Kernel& b) {
  return a.kind == b.kind && a.typed == b.typed && a.boxed == b.boxed && a.c_boxed == b.c_boxed &&
         a.self == b.self;
}

}  // namespace

OperatorEntry::~OperatorEntry() { delete schema_.load(); }

Registry::Registry(Dispatcher& dispatcher, bool built_in_fallbacks)
    : dispatcher_(dispatcher), root_(&own_root_) {
  const auto raising = [](KernelKind kind, BoxedFn function) {
    auto* kernel = new Kernel;
    kernel->kind = kind;
    kernel->boxed = function;
    kernel->plugin = "opyard";
    return KernelPtr::adopt(kernel);
  };
  epoch::start();
  missing_ = raising(KernelKind::kMissing, &raise_missing);
  ambiguous_ = raising(KernelKind::kAmbiguous, &raise_ambiguous);
  gone_ = raising(KernelKind::kGone, &raise_gone);
  MutexLock lock(mutex_);
  fallbacks_.resize(kNumSlots);
  new_entry("");  // index 0: what a handle leads to before it is bound
  if (built_in_fallbacks) put_built_in_fallbacks();
  publish();
}

void Registry::put_built_in_fallbacks() {
  Origin origin;
  Batch batch{{}, origin};
  const auto put = [&](std::string_view key, auto kernel, std::string_view label)
                       OPYARD_REQUIRES(mutex_) {
                         Library library(BlockKind::kImpl, "_", key);
                         library.fallback(kernel).label(label);
                         batch.block = &library.block();
                         add_one(batch, library.block().registrations[0]);
                       };
  put("Autograd", PassDown{}, "autograd fallback: goes on below autograd");
  put("ADInplaceOrView", Fallthrough{}, "fallthrough");
  put("BackendSelect", Fallthrough{}, "fallthrough");
  for (const DispatchKey key : kAutocastKeys.keys())
    put(to_string(key), Fallthrough{}, "fallthrough");
  put("Meta", BoxedKernel{&raise_meta}, "meta fallback: raises");
  for (const Change& change : batch.changes) const_cast<Kernel&>(*change.kernel).built_in = true;
}

std::vector<Change> Registry::add(ArrayRef<opyard_block> blocks, const Origin& origin) {
  std::vector<Change> changes = add_locked(blocks, origin);
  tell_listeners();
  return changes;
}

std::vector<Change> Registry::add_locked(ArrayRef<opyard_block> blocks, const Origin& origin) {
  MutexLock lock(mutex_);
  check_bound();
  const size_t events_before = events_.size();
  Batch batch{{}, origin};
  try {
    for (const opyard_block& block : blocks) {
      batch.block = &block;
      add_block(batch, block);
    }
  } catch (...) {
    Error error = current_error();
    undo_batch(batch);
    events_.erase(events_.begin() + static_cast<long>(events_before), events_.end());
    publish();  // entries made on the way need a table too
    throw Error(error.code(), str_cat(error.message(), " (", describe_block(*batch.block), ")"));
  }
  publish();
  return std::move(batch.changes);
}

void Registry::add_block(Batch& batch, const opyard_block& block) {
  const std::string name_space = to_std(block.name_space);
  OPYARD_CHECK(block.kind >= OPYARD_BLOCK_DEF && block.kind <= OPYARD_BLOCK_IMPL, kInvalidArgument,
               "unknown block kind ", block.kind);
  OPYARD_CHECK(block.kind == OPYARD_BLOCK_IMPL || name_space != "_", kInvalidArgument,
               "the namespace _ takes fallbacks only, in OPYARD_LIBRARY_IMPL(_, KEY, m)");
  if (block.kind == OPYARD_BLOCK_DEF) {
    const auto found = namespaces_.find(name_space);
    OPYARD_CHECK(found == namespaces_.end(), kAlreadyExists, "the namespace '", name_space,
                 "' is already defined by the block ",
                 found == namespaces_.end() ? "" : found->second,
                 "; use OPYARD_LIBRARY_FRAGMENT to add definitions or OPYARD_LIBRARY_IMPL to add "
                 "kernels");
    namespaces_[name_space] = place_of(block.file, block.line);
    batch.changes.push_back({Change::Kind::kNamespace, nullptr, {}, {}, name_space});
  }
  for (uint64_t i = 0; i < block.count; ++i) add_one(batch, block.registrations[i]);
}

void Registry::add_one(Batch& batch, const opyard_registration& registration) {
  switch (registration.kind) {
    case OPYARD_REGISTER_DEF:
      return add_def(batch, registration);
    case OPYARD_REGISTER_IMPL:
      return add_impl(batch, registration);
    case OPYARD_REGISTER_FALLBACK:
      return add_fallback(batch, registration);
    default:
      raise(Code::kInvalidArgument, str_cat("unknown registration kind ", registration.kind));
  }
}

std::string Registry::qualified_name(const Batch& batch, std::string_view written) {
  const OperatorName parsed = parse_operator_name(written);
  const std::string name_space = to_std(batch.block->name_space);
  const size_t colons = parsed.name.find("::");
  if (colons == std::string::npos) return str_cat(name_space, "::", parsed.full());
  OPYARD_CHECK(parsed.name.substr(0, colons) == name_space, kInvalidArgument, "'", written,
               "' names the namespace '", parsed.name.substr(0, colons),
               "', but stands in a block of the namespace '", name_space, "'");
  return parsed.full();
}

void Registry::add_def(Batch& batch, const opyard_registration& registration) {
  OPYARD_CHECK(batch.block->kind != OPYARD_BLOCK_IMPL, kInvalidArgument,
               "def() cannot stand in OPYARD_LIBRARY_IMPL; use OPYARD_LIBRARY or "
               "OPYARD_LIBRARY_FRAGMENT");
  FunctionSchema schema;
  if (registration.flags & OPYARD_SCHEMA_INFERRED) {
    OPYARD_CHECK(registration.schema.size > 0, kInvalidArgument, "could not infer a schema for '",
                 to_std(registration.text), "': only typed kernels tell one; write the schema out");
    schema = parse_schema("_" + to_std(registration.schema));
    const OperatorName name = parse_operator_name(to_std(registration.text));
    schema.name = name.name;
    schema.overload = name.overload;
  } else {
    schema = parse_schema(to_std(registration.text));
  }
  const std::string name = qualified_name(batch, schema.full_name());
  schema.name = parse_operator_name(name).name;
  const std::string place = place_of(registration.file, registration.line);
  const auto found = current_.find(name);
  OPYARD_CHECK(found == current_.end() || found->second->definitions_ == 0, kAlreadyExists,
               "the operator '", name, "' is already defined: '",
               found == current_.end() ? "" : to_string(*found->second->schema()), "' ",
               found == current_.end() ? "" : found->second->definition_place_,
               "; the second definition '", to_string(schema), "' is ", place);
  if (found != current_.end()) {
    for (const auto& [key, kernels] : found->second->registrations_) {
      for (const KernelPtr& kernel : kernels) check_schema(*found->second, schema, *kernel, place);
    }
  }
  OperatorEntry& entry = entry_for_schema(batch, name, schema);
  forget_signature(entry);  // a typed call may have fixed one before there was a schema
  ++entry.definitions_;
  entry.definition_place_ = place;
  touch(entry);
  names_changed_ = true;
  note_event(entry, true);
  batch.changes.push_back({Change::Kind::kDef, &entry, {}, {}, {}});
}

DispatchKey Registry::key_for(const Batch& batch, const opyard_registration& registration) {
  const std::string own = to_std(registration.key);
  const std::string of_block = to_std(batch.block->key);
  if (own.empty() && of_block.empty()) return DispatchKey::CompositeImplicitAutograd;
  const DispatchKey key = parse_dispatch_key(own.empty() ? of_block : own);
  OPYARD_CHECK(own.empty() || of_block.empty() || key == parse_dispatch_key(of_block),
               kInvalidArgument, "'", to_std(registration.text), "' is given the key ", own,
               " in a block of the key ", of_block);
  check_reachable(key);
  return key;
}

void Registry::add_impl(Batch& batch, const opyard_registration& registration) {
  const DispatchKey key = key_for(batch, registration);
  const std::string name = qualified_name(batch, to_std(registration.text));
  OPYARD_CHECK(to_std(batch.block->name_space) != "_", kInvalidArgument,
               "the namespace _ takes fallbacks only");
  KernelPtr kernel = make_kernel(registration, batch.origin);
  OperatorEntry& entry = entry_for(name);
  if (entry.definitions_ > 0) {
    check_schema(entry, *entry.schema(), *kernel, entry.definition_place_);
  }
  if (registration.signature && kernel->typed) {
    const bool known = entry.signature_.mangled != nullptr;
    fix_signature(entry, *static_cast<const SignatureInfo*>(registration.signature), kernel->debug);
    if (!known) batch.new_signatures.push_back(&entry);
  }
  put_kernel(batch, entry, key, kernel);
  if (!entry.forms_.empty() && kernel->kind == KernelKind::kOrdinary) {
    put_forms(batch, entry, key, *kernel);
  }
}

void Registry::put_kernel(Batch& batch, OperatorEntry& entry, DispatchKey key, KernelPtr kernel) {
  auto& kernels = entry.registrations_[key];
  if (!kernels.empty() && !kernel->overrides) {
    log(LogLevel::kWarning,
        str_cat("the kernel of '", entry.name(), "' at ", to_string(key), " (",
                kernels.front()->debug, ") is overridden by one that does not say so (",
                kernel->debug, ")"));
  }
  kernels.insert(kernels.begin(), kernel);
  kernel->registered.store(true, std::memory_order_release);
  if (entry.definitions_ == 0) names_changed_ = true;
  touch(entry);
  batch.changes.push_back({Change::Kind::kImpl, &entry, key, std::move(kernel), {}});
}

void Registry::put_forms(Batch& batch, OperatorEntry& internal, DispatchKey key,
                         const Kernel& kernel) {
  for (const OperatorEntry::Form& form : internal.forms_) {
    auto* wrapper = new Kernel;
    KernelPtr owner = KernelPtr::adopt(wrapper);
    wrapper->typed = form.wrapper;
    wrapper->boxed = form.signature.boxed;
    wrapper->signature = form.signature.mangled;
    wrapper->debug = str_cat("structured wrapper of ", internal.name());
    wrapper->place = kernel.place;
    wrapper->plugin = kernel.plugin;
    wrapper->generation = kernel.generation;
    wrapper->overrides = kernel.overrides;
    wrapper->is_wrapper = true;
    put_kernel(batch, *form.public_op, key, std::move(owner));
  }
}

void Registry::add_fallback(Batch& batch, const opyard_registration& registration) {
  OPYARD_CHECK(batch.block->kind == OPYARD_BLOCK_IMPL && to_std(batch.block->name_space) == "_",
               kInvalidArgument,
               "a fallback stands in OPYARD_LIBRARY_IMPL(_, KEY, m): it serves every operator");
  OPYARD_CHECK(!registration.typed, kInvalidArgument,
               "a fallback serves every signature and so has to be a boxed kernel");
  const DispatchKey key = key_for(batch, registration);
  KernelPtr kernel = make_kernel(registration, batch.origin);
  const_cast<Kernel&>(*kernel).is_fallback = true;
  for (const DispatchKey member : expand_alias(key)) {
    KernelPtr& place = fallbacks_[static_cast<size_t>(slot_of(member))];
    if (place && same_function(*place, *kernel)) continue;
    OPYARD_CHECK(!place, kAlreadyExists, "a fallback for the key ", to_string(member),
                 " is already defined (", place ? place->debug : "", "); the second one is ",
                 kernel->debug);
    place = kernel;
    kernel->registered.store(true, std::memory_order_release);
    batch.changes.push_back({Change::Kind::kFallback, nullptr, member, kernel, {}});
  }
  touch_all();
}

void Registry::undo(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kNamespace:
      namespaces_.erase(change.name_space);
      return;
    case Change::Kind::kFallback: {
      KernelPtr& place = fallbacks_[static_cast<size_t>(slot_of(change.key))];
      change.kernel->registered.store(false, std::memory_order_release);
      if (place == change.kernel) place.reset();
      touch_all();
      return;
    }
    case Change::Kind::kDef:
      --change.entry->definitions_;
      note_event(*change.entry, false);
      names_changed_ = true;
      touch(*change.entry);
      if (change.entry->registrations_.empty()) forget_signature(*change.entry);
      return;
    case Change::Kind::kImpl:
      change.kernel->registered.store(false, std::memory_order_release);
      break;
  }
  // A redefinition with another schema may have taken the kernel along to a newer entry.
  for (OperatorEntry* entry : history_[change.entry->name()]) {
    const auto found = entry->registrations_.find(change.key);
    if (found == entry->registrations_.end()) continue;
    if (std::erase(found->second, change.kernel) == 0) continue;
    if (found->second.empty()) entry->registrations_.erase(found);
    names_changed_ = true;
    touch(*entry);
    const bool empty = entry->definitions_ == 0 && entry->registrations_.empty();
    if (empty || !change.kernel->signature.empty()) forget_signature(*entry);
  }
}

void Registry::undo_batch(Batch& batch) {
  for (size_t i = batch.changes.size(); i-- > 0;) undo(batch.changes[i]);
  for (size_t i = batch.moves.size(); i-- > 0;) {
    const auto [from, to] = batch.moves[i];
    move_kernels(*to, *from);
    current_[from->name()] = from;
  }
  for (OperatorEntry* entry : batch.new_signatures) entry->signature_ = {};
}

void Registry::remove(const std::vector<Change>& changes) noexcept {
  if (changes.empty()) return;
  {
    MutexLock lock(mutex_);
    for (size_t i = changes.size(); i-- > 0;) undo(changes[i]);
    publish();
  }
  tell_listeners();
}

}  // namespace opyard
