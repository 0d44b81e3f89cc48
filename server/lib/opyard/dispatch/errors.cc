#include <string>

#include "opyard/base/check.h"
#include "opyard/core/thread_state.h"
#include "opyard/dispatch/registry.h"

namespace opyard {
namespace {

std::string describe_arguments(const IValue* in, uint32_t n_in) {
  std::string text = "(";
  for (uint32_t i = 0; i < n_in; ++i) {
    if (i > 0) text += ", ";
    if (i == 8) return text + "…)";
    text += describe(in[i]);
  }
  return text + ")";
}

// Keys with a kernel that computes something; fallthroughs and fallbacks that only pass on are
// counted.
std::string describe_kernels(const OperatorTable& table) {
  std::string real;
  std::string previous;
  int passing = 0;
  int shown = 0;
  for (int i = 0; i < kNumSlots; ++i) {
    const Kernel& kernel = *table.slot_at(i).kernel;
    if (kernel.kind == KernelKind::kFallthrough || kernel.kind == KernelKind::kPassDown) {
      ++passing;
    } else if (kernel.kind == KernelKind::kOrdinary && !kernel.built_in && i > 0 && ++shown <= 12) {
      real += (real.empty() ? "" : ", ") + to_string(key_of_slot(i));
    }
  }
  if (real.empty()) return str_cat("It has no kernel at all");
  return str_cat("It has kernels for ", real, shown > 12 ? ", …" : "", " (and ", passing,
                 " keys that only pass calls on)");
}

std::string fix_for(const OperatorTable& table, DispatchKey key) {
  const Backend backend = backend_of(key);
  const std::string device = backend == Backend::kNone ? "that device" : to_string(Device(backend));
  const bool on_cpu = table.slot(KeySet(DispatchKey::CPU)).kernel->kind == KernelKind::kOrdinary;
  if (on_cpu && backend == Backend::kCPU) {
    return "Make the arguments plain (strided) tensors of that device.";
  }
  if (on_cpu) {
    return str_cat("Move the arguments to cpu, or load a plugin that has this operator for ",
                   device, ".");
  }
  return str_cat("Load a plugin that has this operator for ", device,
                 "; 'explain' shows its whole table.");
}

[[noreturn]] void raise_at(const OperatorEntry& op, DispatchKey key, Code code,
                           std::string message) {
  throw Error(code, std::move(message)).with_op(op.name()).with_key(to_string(key));
}

}  // namespace

void raise_missing(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  const DispatchKey key = keys.set.highest_priority();
  const KeySet arguments = boxed_keys(op.key_positions(), in, n_in);
  std::string message = str_cat("no kernel for the operator '", op.name(), "' at the key ",
                                to_string(key), ", called with ", describe_arguments(in, n_in));
  if (key != DispatchKey::Undefined) {
    message += str_cat("; keys after thread state: ", to_string(keys.set), ". ",
                       describe_kernels(*keys.table), ". ", fix_for(*keys.table, key));
  } else if (arguments.empty()) {
    message += str_cat(": there were no tensor arguments, so nothing says which backend is meant. ",
                       describe_kernels(*keys.table), ".");
  } else if (keys.set.highest_functionality() != DispatchKey::Undefined) {
    message += str_cat(": the keys name ", to_string(keys.set.highest_functionality()),
                       " without a backend. ", describe_kernels(*keys.table), ".");
  } else {
    const KeySet taken = ((arguments | included_keys()) - keys.set);
    message += str_cat(": no key was left. The arguments bring ", to_string(arguments),
                       "; excluded by the thread, falling through, or above the caller: ",
                       to_string(taken), ". ", describe_kernels(*keys.table), ".");
  }
  raise_at(op, key, Code::kUnimplemented, std::move(message));
}

void raise_ambiguous(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  raise_at(op, DispatchKey::AutogradOther, Code::kUnimplemented,
           str_cat("the kernel of '", op.name(),
                   "' at AutogradOther is ambiguous: it has one at "
                   "CompositeImplicitAutograd and one at a backend that AutogradOther serves. "
                   "Register a kernel at AutogradOther, or give that backend an Autograd key of "
                   "its own."));
}

void raise_gone(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  if (op.name().empty()) {
    raise(Code::kFailedPrecondition,
          "the operators of this process are not registered; construct an opyard::Yard (or call "
          "opyard::initialize()) before the first call");
  }
  raise_at(op, DispatchKey::Undefined, Code::kNotFound,
           str_cat("the operator '", op.name(),
                   "' is no longer registered; load the plugin that defines it again"));
}

void raise_meta(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  raise_at(op, DispatchKey::Meta, Code::kUnimplemented,
           str_cat("no kernel for the operator '", op.name(),
                   "' at Meta: its result's shape is not known without computing. Register a shape "
                   "function with OPYARD_LIBRARY_IMPL(…, Meta, m)."));
}

void raise_fallthrough(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  raise_at(
      op, keys.set.highest_priority(), Code::kInternal,
      str_cat("the operator '", op.name(), "' was sent to ", to_string(keys.set.highest_priority()),
              ", which falls through; mask the keys before a redispatch"));
}

void pass_down_boxed(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                     uint32_t n_out) {
  invoke_boxed(CallLabel::kRedispatchBoxed, keys.with(keys.set - kAutogradKeys), in, n_in, out,
               n_out);
}

}  // namespace opyard
