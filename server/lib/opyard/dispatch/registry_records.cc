#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/dispatch/registry.h"

namespace opyard {
namespace {

std::string place_of(opyard_str file, uint32_t line) {
  return str_cat("registered at ", to_std(file), ":", line);
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
void check_parts(const opyard_registration& record) {
  const bool cxx = record.typed || record.cxx_boxed || record.signature;
  OPYARD_CHECK((record.flags & OPYARD_CXX_KERNEL) || !cxx, kInvalidArgument, "the record for '",
               to_std(record.text),
               "' sets typed, cxx_boxed or signature without the flag OPYARD_CXX_KERNEL");
  OPYARD_CHECK(!record.typed || record.signature, kInvalidArgument, "the kernel for '",
               to_std(record.text), "' is typed, but has no signature");
  OPYARD_CHECK(record.kind == OPYARD_REGISTER_DEF ||
                   (record.tags.size == 0 && record.alias_analysis == OPYARD_ALIAS_DEFAULT),
               kInvalidArgument, "the record for '", to_std(record.text),
               "' has tags or an alias analysis kind; those belong to a definition");
}

KernelPtr make_kernel(const opyard_registration& record, const Origin& origin) {
  auto* kernel = new Kernel;
  KernelPtr owner = KernelPtr::adopt(kernel);
  kernel->typed = record.typed;
  kernel->self = record.self;
  kernel->overrides = record.flags & OPYARD_OVERRIDES;
  kernel->is_fallback = record.kind == OPYARD_REGISTER_FALLBACK;
  kernel->schema = to_std(record.schema);
  kernel->plugin = origin.plugin;
  kernel->generation = origin.generation;
  kernel->place = place_of(record.file, record.line);
  kernel->debug = record.debug.size ? to_std(record.debug) : kernel->place;
  if (record.typed) {
    const auto& signature = *static_cast<const SignatureInfo*>(record.signature);
    kernel->signature = signature.mangled;
    kernel->pass_down = signature.pass_down;
    kernel->from_typed = signature.from_typed;
  }
  if (record.flags & OPYARD_FALLTHROUGH) {
    kernel->kind = KernelKind::kFallthrough;
    kernel->boxed = &raise_fallthrough;
  } else if (record.flags & OPYARD_PASS_DOWN) {
    kernel->kind = KernelKind::kPassDown;
    kernel->boxed = &pass_down_boxed;
  } else if ((record.flags & OPYARD_CXX_KERNEL) && record.cxx_boxed && !record.typed &&
             origin.plugin != Origin().plugin) {
    kernel->boxed = &call_guarded_kernel;
    kernel->c_boxed = reinterpret_cast<opyard_boxed_fn>(const_cast<void*>(record.cxx_boxed));
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

namespace {

// What the one who registered it has written; a C kernel's is c_boxed.
const void* boxed_of(const Kernel& kernel) {
  return kernel.boxed == &call_guarded_kernel ? reinterpret_cast<const void*>(kernel.c_boxed)
                                              : reinterpret_cast<const void*>(kernel.boxed);
}

}  // namespace

bool same_function(const Kernel& a, const Kernel& b) {
  const bool c_kernel = a.boxed == &call_c_kernel;
  return a.kind == b.kind && a.typed == b.typed && boxed_of(a) == boxed_of(b) &&
         (!c_kernel || a.c_boxed == b.c_boxed) && a.self == b.self;
}

// Label, place and plugin.
std::string describe(const Kernel& kernel) {
  return str_cat(kernel.debug == kernel.place ? std::string() : kernel.debug + ", ", kernel.place,
                 " by '", kernel.plugin, "'");
}

std::string qualified_name(const opyard_block& block, std::string_view written) {
  const OperatorName parsed = parse_operator_name(written);
  const std::string name_space = to_std(block.name_space);
  const size_t colons = parsed.name.find("::");
  if (colons == std::string::npos) return name_space + "::" + parsed.full();
  OPYARD_CHECK(parsed.name.substr(0, colons) == name_space, kInvalidArgument, "'", written,
               "' names the namespace '", parsed.name.substr(0, colons),
               "', but stands in a block of the namespace '", name_space, "'");
  return parsed.full();
}

DispatchKey key_for(const opyard_block& block, const opyard_registration& record) {
  const std::string own = to_std(record.key);
  const std::string of_block = to_std(block.key);
  if (own.empty() && of_block.empty()) {
    OPYARD_CHECK(record.kind != OPYARD_REGISTER_FALLBACK, kInvalidArgument,
                 "a fallback needs a key: OPYARD_LIBRARY_IMPL(_, KEY, m)");
    return DispatchKey::CompositeImplicitAutograd;
  }
  const DispatchKey key = parse_dispatch_key(own.empty() ? of_block : own);
  OPYARD_CHECK(own.empty() || of_block.empty() || key == parse_dispatch_key(of_block),
               kInvalidArgument, "'", to_std(record.text), "' is given the key ", own,
               " in a block of the key ", of_block);
  check_reachable(key);
  return key;
}

FunctionSchema schema_of(const opyard_registration& record) {
  if (!(record.flags & OPYARD_SCHEMA_INFERRED)) return parse_schema(to_std(record.text));
  OPYARD_CHECK(record.schema.size > 0, kInvalidArgument, "could not infer a schema for '",
               to_std(record.text), "': only typed kernels tell one; write the schema out");
  FunctionSchema schema = parse_schema("_" + to_std(record.schema));
  OperatorName name = parse_operator_name(to_std(record.text));
  schema.name = std::move(name.name);
  schema.overload = std::move(name.overload);
  return schema;
}

struct ByKey {
  bool operator()(const KernelAt& at, DispatchKey key) const { return at.key < key; }
  bool operator()(DispatchKey key, const KernelAt& at) const { return key < at.key; }
};

}  // namespace

void Registry::put_built_in_fallbacks() {
  const Origin origin;
  Batch batch = new_batch(origin);
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
  for (const Change& change : batch.changes) {
    const_cast<Kernel&>(*change.kernel).built_in = true;
    change.kernel->registered = true;
  }
}

void Registry::add_block(Batch& batch, const opyard_block& block) {
  const std::string name_space = to_std(block.name_space);
  OPYARD_CHECK(block.kind >= OPYARD_BLOCK_DEF && block.kind <= OPYARD_BLOCK_IMPL, kInvalidArgument,
               "unknown block kind ", block.kind);
  if (block.kind != OPYARD_BLOCK_IMPL) {
    OPYARD_CHECK(name_space != "_", kInvalidArgument,
                 "the namespace _ takes fallbacks only, in OPYARD_LIBRARY_IMPL(_, KEY, m)");
    OPYARD_CHECK(batch.origin.is_library() || (name_space != "kernel" && name_space != "prim"),
                 kPermissionDenied, "the plugin '", batch.origin.plugin,
                 "' cannot define operators in the namespace '", name_space,
                 "': it is reserved for the library itself; take a namespace of your own");
  }
  if (block.kind == OPYARD_BLOCK_DEF) {
    const std::string place = place_of(block.file, block.line);
    const auto [found, is_new] =
        edit_namespaces(batch).try_emplace(name_space, Namespace{batch.origin.plugin, place});
    OPYARD_CHECK(is_new, kAlreadyExists, "the namespace '", name_space, "' is already defined by '",
                 found->second.plugin, "' (", found->second.place, "); the second block, of '",
                 batch.origin.plugin, "', is ", place,
                 "; use OPYARD_LIBRARY_FRAGMENT to add definitions or OPYARD_LIBRARY_IMPL to add "
                 "kernels");
    batch.changes.push_back({.kind = Change::Kind::kNamespace, .name_space = name_space});
  }
  for (uint64_t i = 0; i < block.count; ++i) add_one(batch, block.registrations[i]);
}

void Registry::add_one(Batch& batch, const opyard_registration& record) {
  check_parts(record);
  switch (record.kind) {
    case OPYARD_REGISTER_DEF:
      return add_def(batch, record);
    case OPYARD_REGISTER_IMPL:
      return add_impl(batch, record);
    case OPYARD_REGISTER_FALLBACK:
      return add_fallback(batch, record);
    default:
      raise(Code::kInvalidArgument, str_cat("unknown registration kind ", record.kind));
  }
}

void Registry::add_def(Batch& batch, const opyard_registration& record) {
  OPYARD_CHECK(batch.block->kind != OPYARD_BLOCK_IMPL, kInvalidArgument,
               "def() cannot stand in OPYARD_LIBRARY_IMPL; use OPYARD_LIBRARY or "
               "OPYARD_LIBRARY_FRAGMENT");
  FunctionSchema schema = schema_of(record);
  const std::string name = qualified_name(*batch.block, schema.full_name());
  schema.name = parse_operator_name(name).name;
  const Attributes& attributes = *attributes_.insert(read_attributes(record, schema)).first;
  const std::string place = place_of(record.file, record.line);
  if (const auto found = names_.find(name); found != names_.end() && found->second.current) {
    const OperatorEntry& entry = *found->second.current;
    check_owners(entry, schema, attributes, batch.origin, place);
    for (const KernelAt& at : entry.state_.kernels) {
      if (at.kernel) check_schema(entry, schema, *at.kernel, place);
    }
  }
  OperatorEntry& entry = entry_for_schema(batch, name, schema);
  State& state = edit(batch, entry);
  state.attributes = &attributes;
  state.owners.push_back({++last_owner_, batch.origin.plugin, place});
  batch.changes.push_back({.kind = Change::Kind::kDef,
                           .entry = &entry,
                           .owner = last_owner_,
                           .farewell = {OperatorEvent{&entry, false, 0, nullptr}}});
}

void Registry::add_impl(Batch& batch, const opyard_registration& record) {
  const DispatchKey key = key_for(*batch.block, record);
  const std::string name = qualified_name(*batch.block, to_std(record.text));
  OPYARD_CHECK(to_std(batch.block->name_space) != "_", kInvalidArgument,
               "the namespace _ takes fallbacks only");
  const KernelPtr kernel = make_kernel(record, batch.origin);
  OperatorEntry& entry = entry_for(batch, name);
  const State& state = entry.state_;
  if (state.is_defined()) check_schema(entry, *state.schema, *kernel, state.owners.front().place);
  if (kernel->typed) {
    check_by_value(name, *static_cast<const SignatureInfo*>(record.signature), kernel->debug);
    check_signature(entry, kernel->signature.c_str(), kernel->place);
  }
  put_kernel(batch, entry, key, kernel);
  if (!entry.forms_.empty() && kernel->kind == KernelKind::kOrdinary) {
    put_forms(batch, entry, key, *kernel);
  }
}

void Registry::put_kernel(Batch& batch, OperatorEntry& entry, DispatchKey key, KernelPtr kernel) {
  Registrations& kernels = edit(batch, entry).kernels;
  batch.changes.push_back(
      {.kind = Change::Kind::kImpl, .entry = &entry, .key = key, .kernel = kernel});
  const auto [first, last] = std::equal_range(kernels.begin(), kernels.end(), key, ByKey());
  // What takes the place of an earlier generation leaves those above it where they are.
  const auto oldest_open =
      std::find_if(std::make_reverse_iterator(last), std::make_reverse_iterator(first),
                   [](const KernelAt& at) { return !at.kernel; });
  if (oldest_open != std::make_reverse_iterator(first)) {
    oldest_open->kernel = std::move(kernel);
    return;
  }
  if (first != last && !kernel->overrides && !kernel->is_wrapper) {
    batch.warnings.push_back(str_cat("the kernel of '", entry.name(), "' at ", to_string(key), " (",
                                     describe(*first->kernel),
                                     ") is overridden by one that does not say so (",
                                     describe(*kernel), "); use override_impl where it is meant"));
  }
  kernels.insert(first, {key, std::move(kernel)});
}

void Registry::put_forms(Batch& batch, OperatorEntry& internal, DispatchKey key,
                         const Kernel& kernel) {
  for (const OperatorEntry::Form& form : internal.forms_) {
    // A redefinition with another schema is no form any more.
    if (form.public_op->names_->current != form.public_op) continue;
    auto* wrapper = new Kernel;
    KernelPtr owner = KernelPtr::adopt(wrapper);
    wrapper->typed = form.wrapper;
    wrapper->boxed = form.signature.boxed;
    wrapper->signature = form.signature.mangled;
    wrapper->pass_down = form.signature.pass_down;
    wrapper->from_typed = form.signature.from_typed;
    wrapper->schema = form.schema;
    wrapper->debug = str_cat("structured wrapper of ", internal.name());
    wrapper->place = kernel.place;
    wrapper->plugin = kernel.plugin;
    wrapper->generation = kernel.generation;
    wrapper->overrides = kernel.overrides;
    wrapper->is_wrapper = true;
    put_kernel(batch, *form.public_op, key, std::move(owner));
  }
}

void Registry::add_fallback(Batch& batch, const opyard_registration& record) {
  OPYARD_CHECK(batch.block->kind == OPYARD_BLOCK_IMPL && to_std(batch.block->name_space) == "_",
               kInvalidArgument,
               "a fallback stands in OPYARD_LIBRARY_IMPL(_, KEY, m): it serves every operator");
  OPYARD_CHECK(!record.typed, kInvalidArgument,
               "a fallback serves every signature and so has to be a boxed kernel");
  const DispatchKey key = key_for(*batch.block, record);
  const KernelPtr kernel = make_kernel(record, batch.origin);
  for (const DispatchKey member : expand_alias(key)) {
    auto& stack = edit_fallbacks(batch)[static_cast<size_t>(slot_of(member))];
    for (const KernelPtr& other : stack) {
      OPYARD_CHECK(!other || same_function(*other, *kernel), kAlreadyExists,
                   "a fallback for the key ", to_string(member), " is already defined (",
                   describe(*other), "); the second one is ", describe(*kernel));
    }
    batch.changes.push_back({.kind = Change::Kind::kFallback, .key = member, .kernel = kernel});
    const auto open = std::find(stack.begin(), stack.end(), KernelPtr());
    if (open != stack.end()) {
      *open = kernel;
    } else {
      stack.push_back(kernel);
    }
  }
}

}  // namespace opyard
