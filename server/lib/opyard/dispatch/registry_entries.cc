#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/dispatch/registry.h"

namespace opyard {

OperatorEntry& Registry::new_entry(Name& name, const std::string& text) {
  name.entries.reserve(name.entries.size() + 1);
  const auto index = static_cast<uint32_t>(entries_.size());
  entries_.push_back(std::make_unique<OperatorEntry>(dispatcher_, text, index));
  OperatorEntry& entry = *entries_.back();
  entry.names_ = &name;
  name.entries.push_back(&entry);
  touch(entry);
  return entry;
}

OperatorEntry& Registry::entry_for(Batch& batch, const std::string& text) {
  Name& name = names_[text];
  if (!name.current) {
    batch.meanings.emplace_back(&name, nullptr);
    name.current = &new_entry(name, text);
  }
  return *name.current;
}

OperatorEntry& Registry::defined_entry(const std::string& name) {
  const auto found = names_.find(name);
  OPYARD_CHECK(
      found != names_.end() && found->second.current && found->second.current->state_.is_defined(),
      kFailedPrecondition, "'", name, "' is not defined");
  return *found->second.current;
}

OperatorEntry& Registry::entry_for_schema(Batch& batch, const std::string& text,
                                          const FunctionSchema& schema) {
  OperatorEntry& current = entry_for(batch, text);
  if (!current.state_.schema) {
    edit(batch, current).schema = std::make_shared<const FunctionSchema>(schema);
    return current;
  }
  const std::string wanted = to_string(schema);
  if (to_string(*current.state_.schema) == wanted) return current;
  // Another schema: another entry, an earlier one of the same text where there is one. Kernels that
  // outlived the old definition go along.
  Name& name = *current.names_;
  OperatorEntry* next = nullptr;
  for (OperatorEntry* earlier : name.entries) {
    if (to_string(*earlier->state_.schema) == wanted) next = earlier;
  }
  if (!next) next = &new_entry(name, text);
  State& state = edit(batch, *next);
  if (!state.schema) state.schema = std::make_shared<const FunctionSchema>(schema);
  state.kernels.swap(edit(batch, current).kernels);
  for (const KernelAt& at : state.kernels) {
    if (at.kernel && at.kernel->typed) {
      check_signature(*next, at.kernel->signature.c_str(), at.kernel->place);
    }
  }
  batch.meanings.emplace_back(&name, &current);
  name.current = next;
  return *next;
}

void Registry::check_owners(const OperatorEntry& entry, const FunctionSchema& schema,
                            const Attributes& attributes, const Origin& origin,
                            const std::string& place) {
  const State& state = entry.state_;
  if (!state.is_defined()) return;
  const OperatorEntry::Owner* first = &state.owners.front();
  for (const OperatorEntry::Owner& owner : state.owners) {
    if (owner.plugin == origin.plugin) first = &owner;
  }
  const std::string already =
      str_cat("the operator '", entry.name(), "' is already defined by '", first->plugin, "': '",
              to_string(*state.schema), "' (", first->place, "); the second definition, by '",
              origin.plugin, "', is '", to_string(schema), "' (", place, ")");
  OPYARD_CHECK(first->plugin != origin.plugin, kAlreadyExists, already,
               ". One plugin defines an operator once");
  OPYARD_CHECK(to_string(*state.schema) == to_string(schema), kAlreadyExists, already,
               ". Two plugins may define an operator only in the same words");
  OPYARD_CHECK(*state.attributes == attributes, kAlreadyExists, already,
               ". Two plugins may define an operator only alike; the first says ",
               to_string(*state.attributes), ", the second ", to_string(attributes));
}

void Registry::check_schema(const OperatorEntry& entry, const FunctionSchema& declared,
                            const Kernel& kernel, const std::string& declared_at) {
  if (kernel.schema.empty()) return;
  const auto difference = schema_difference(declared, parse_schema("_" + kernel.schema));
  OPYARD_CHECK(!difference, kInvalidArgument, "mismatch of schema and kernel of the operator '",
               entry.name(), "': the definition is '", to_string(declared), "' (", declared_at,
               "), the kernel's is '", kernel.schema, "' (", kernel.debug, "): ", *difference);
}

// What is bound stays; else any kernel will do, and the table is built anew when that goes: the
// glue is code of the one who registered it.
Registry::KnownSignature Registry::signature_of(const OperatorEntry& entry) {
  const SignatureInfo& bound = entry.bound_;
  if (bound.mangled) {
    return {bound.mangled, bound.pass_down, bound.from_typed, nullptr, entry.bound_at_};
  }
  for (const KernelAt& at : entry.state_.kernels) {
    const Kernel* kernel = at.kernel.get();
    if (!kernel || !kernel->typed) continue;
    return {kernel->signature.c_str(), kernel->pass_down, kernel->from_typed, kernel,
            kernel->place};
  }
  return {};
}

// Kernels of a definition have been compared with it. Those of an operator that has lost its own
// may be meant for another one, while boxed kernels of the old one are still there.
bool Registry::may_be_misread(const OperatorEntry& entry, const KnownSignature& signature) {
  const State& state = entry.state_;
  return !state.is_defined() && state.schema && signature.owner &&
         schema_difference(*state.schema, parse_schema("_" + signature.owner->schema));
}

void Registry::check_signature(const OperatorEntry& entry, const char* mangled,
                               const std::string& place) {
  const KnownSignature known = signature_of(entry);
  if (!known.mangled || std::string_view(known.mangled) == mangled) return;
  const auto& schema = entry.state_.schema;
  raise(Code::kInvalidArgument,
        str_cat("mismatch in kernel C++ signatures of the operator '", entry.name(), "'",
                schema ? str_cat(" (", to_string(*schema), ")") : std::string(), ": '",
                demangle(known.mangled), "' ", known.place, ", and '", demangle(mangled), "' ",
                place));
}

void Registry::bind_signature(OperatorEntry& entry, const SignatureInfo& signature,
                              std::string place) {
  if (entry.bound_.mangled) return;
  entry.bound_ = signature;
  entry.bound_at_ = std::move(place);
  touch(entry);
}

void Registry::declare_structured(std::string_view internal_op, ArrayRef<StructuredForm> forms) {
  MutexLock lock(mutex_);
  OperatorEntry& internal = defined_entry(std::string(internal_op));
  OPYARD_CHECK(internal.state_.kernels.empty(), kFailedPrecondition, "'", internal_op,
               "' has kernels already; declare a structured group before its kernels");
  const std::string place = str_cat("structured form of ", internal_op);
  std::vector<OperatorEntry::Form> added;
  for (const StructuredForm& form : forms) {
    OperatorEntry& public_op = defined_entry(form.public_op);
    check_signature(public_op, form.signature.mangled, place);
    added.push_back({&public_op, form.signature, form.wrapper, to_string(form.signature.schema())});
  }
  for (const OperatorEntry::Form& form : internal.forms_) form.public_op->kernel_op_ = nullptr;
  for (const OperatorEntry::Form& form : added) {
    bind_signature(*form.public_op, form.signature, place);
    form.public_op->kernel_op_ = &internal;
  }
  internal.forms_ = std::move(added);
  publish();
}

void Registry::bind(ArrayRef<const OpHandleBase*> handles) {
  MutexLock lock(mutex_);
  const std::string place = "fixed by the generated handle";
  std::vector<OperatorEntry*> entries;
  for (const OpHandleBase* handle : handles) {
    OperatorEntry& entry = defined_entry(parse_schema(handle->schema).full_name());
    check_signature(entry, handle->signature().mangled, place);
    entries.push_back(&entry);
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    bind_signature(*entries[i], handles[i]->signature(), place);
    handles[i]->index = entries[i]->index();
  }
  publish();
}

}  // namespace opyard
