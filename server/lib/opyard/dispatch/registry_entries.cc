#include "opyard/base/check.h"
#include "opyard/dispatch/registry.h"

namespace opyard {
namespace {

bool has_typed_kernel(const Registrations& registrations) {
  for (const auto& [key, kernels] : registrations) {
    for (const KernelPtr& kernel : kernels) {
      if (!kernel->signature.empty()) return true;
    }
  }
  return false;
}

}  // namespace

OperatorEntry& Registry::new_entry(const std::string& name) {
  const auto index = static_cast<uint32_t>(entries_.size());
  entries_.push_back(std::make_unique<OperatorEntry>(dispatcher_, name, index));
  OperatorEntry& entry = *entries_.back();
  history_[name].push_back(&entry);
  touch(entry);
  return entry;
}

OperatorEntry& Registry::entry_for(const std::string& name) {
  OperatorEntry*& current = current_[name];
  if (!current) current = &new_entry(name);
  return *current;
}

void Registry::set_schema(OperatorEntry& entry, const FunctionSchema& schema) {
  entry.key_positions_.store(key_positions(schema), std::memory_order_release);
  entry.schema_.store(new FunctionSchema(schema), std::memory_order_release);
}

void Registry::move_kernels(OperatorEntry& from, OperatorEntry& to) {
  to.registrations_.swap(from.registrations_);
  touch(from);
  touch(to);
  // The signature of typed kernels goes with them; one that a typed call has fixed fits the old
  // schema only, and stays.
  if (!has_typed_kernel(to.registrations_)) return;
  to.signature_ = from.signature_;
  to.signature_name_ = from.signature_name_;
  to.signature_.mangled = to.signature_name_.c_str();
  to.signature_place_ = from.signature_place_;
  forget_signature(from);
}

void Registry::forget_signature(OperatorEntry& entry) {
  if (entry.bound_ || has_typed_kernel(entry.registrations_)) return;
  entry.signature_ = {};
}

// Kernels of a definition have been compared with it. Those of an operator that has lost its own
// may be meant for another one, while boxed kernels of the old one are still there.
bool Registry::may_be_misread(const OperatorEntry& entry) {
  return entry.definitions_ == 0 && entry.schema() && !entry.bound_ &&
         schema_difference(*entry.schema(), entry.signature_.schema());
}

OperatorEntry& Registry::entry_for_schema(Batch& batch, const std::string& name,
                                          const FunctionSchema& schema) {
  OperatorEntry& current = entry_for(name);
  if (!current.schema()) {
    set_schema(current, schema);
    return current;
  }
  const std::string text = to_string(schema);
  if (to_string(*current.schema()) == text) return current;
  // Another schema: another entry, an earlier one of the same text where there is one. Kernels that
  // outlived the old definition go along.
  OperatorEntry* next = nullptr;
  for (OperatorEntry* earlier : history_[name]) {
    if (to_string(*earlier->schema()) == text) next = earlier;
  }
  if (!next) {
    next = &new_entry(name);
    set_schema(*next, schema);
  }
  OPYARD_CHECK(!next->bound_ || !has_typed_kernel(current.registrations_) ||
                   next->signature_name_ == current.signature_name_,
               kInvalidArgument, "mismatch in kernel C++ signatures of the operator '", name, "' (",
               text, "): '", demangle(next->signature_name_.c_str()), "' ", next->signature_place_,
               ", and kernels that outlived the last definition with '",
               demangle(current.signature_name_.c_str()), "' ", current.signature_place_);
  move_kernels(current, *next);
  batch.moves.emplace_back(&current, next);
  current_[name] = next;
  return *next;
}

void Registry::fix_signature(OperatorEntry& entry, const SignatureInfo& signature,
                             const std::string& place) {
  if (!entry.signature_.mangled) {
    entry.signature_ = signature;
    entry.signature_name_ = signature.mangled;
    entry.signature_.mangled = entry.signature_name_.c_str();
    entry.signature_place_ = place;
    touch(entry);
    return;
  }
  OPYARD_CHECK(entry.signature_name_ == signature.mangled, kInvalidArgument,
               "mismatch in kernel C++ signatures of the operator '", entry.name(), "'",
               entry.schema() ? str_cat(" (", to_string(*entry.schema()), ")") : std::string(),
               ": '", demangle(entry.signature_name_.c_str()), "' ", entry.signature_place_,
               ", and '", demangle(signature.mangled), "' ", place);
}

void Registry::check_signature(const OperatorEntry& entry, const SignatureInfo& signature) {
  MutexLock lock(mutex_);
  auto& writable = const_cast<OperatorEntry&>(entry);
  if (entry.schema() && (!entry.signature_.mangled || may_be_misread(entry))) {
    const auto difference = schema_difference(*entry.schema(), signature.schema());
    OPYARD_CHECK(!difference, kInvalidArgument, "the operator '", entry.name(),
                 "' was accessed with a wrong signature (mismatch): its schema is '",
                 to_string(*entry.schema()), "', the C++ call is '", demangle(signature.mangled),
                 "': ", *difference);
  }
  OPYARD_CHECK(!entry.signature_.mangled || entry.signature_name_ == signature.mangled,
               kInvalidArgument, "the operator '", entry.name(),
               "' was accessed with a wrong signature (mismatch): its kernels have '",
               demangle(entry.signature_name_.c_str()), "', the call is '",
               demangle(signature.mangled), "'",
               entry.schema() ? str_cat("; its schema is '", to_string(*entry.schema()), "'")
                              : std::string());
  if (entry.signature_.mangled) return;
  fix_signature(writable, signature, "fixed by a typed call");
  publish();
}

void Registry::check_schema(const OperatorEntry& entry, const FunctionSchema& declared,
                            const Kernel& kernel, const std::string& declared_at) {
  if (kernel.schema.empty()) return;
  const auto difference = schema_difference(declared, parse_schema("_" + kernel.schema));
  OPYARD_CHECK(!difference, kInvalidArgument, "mismatch of schema and kernel of the operator '",
               entry.name(), "': the definition is '", to_string(declared), "' (", declared_at,
               "), the kernel's is '", kernel.schema, "' (", kernel.debug, "): ", *difference);
}

void Registry::declare_structured(std::string_view internal_op, ArrayRef<StructuredForm> forms) {
  MutexLock lock(mutex_);
  const auto defined = [&](const std::string& name) OPYARD_REQUIRES(mutex_) -> OperatorEntry& {
    const auto found = current_.find(name);
    OPYARD_CHECK(found != current_.end() && found->second->definitions_ > 0, kFailedPrecondition,
                 "'", name, "' is not defined, so it cannot be part of a structured group");
    return *found->second;
  };
  OperatorEntry& internal = defined(std::string(internal_op));
  OPYARD_CHECK(internal.registrations_.empty(), kFailedPrecondition, "'", internal_op,
               "' has kernels already; declare a structured group before its kernels");
  for (const StructuredForm& form : forms) {
    OperatorEntry& public_op = defined(form.public_op);
    fix_signature(public_op, form.signature, str_cat("structured form of ", internal_op));
    public_op.kernel_op_ = &internal;
    public_op.bound_ = true;
    internal.forms_.push_back({&public_op, form.signature, form.wrapper});
  }
  publish();
}

void Registry::bind(ArrayRef<const OpHandleBase*> handles) {
  MutexLock lock(mutex_);
  for (const OpHandleBase* handle : handles) {
    const FunctionSchema schema = parse_schema(handle->schema);
    const auto found = current_.find(schema.full_name());
    OPYARD_CHECK(found != current_.end() && found->second->definitions_ > 0, kFailedPrecondition,
                 "the handle of '", schema.full_name(), "' has no operator to be bound to");
    fix_signature(*found->second, handle->signature(), "fixed by the generated handle");
    handle->index = found->second->index();
    found->second->bound_ = true;
  }
  publish();
}

}  // namespace opyard
