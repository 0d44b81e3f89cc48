#include <algorithm>
#include <string>

#include "opyard/base/check.h"
#include "opyard/core/thread_state.h"
#include "opyard/dispatch/registry.h"

// The texts of calls that fail before a kernel runs. They are bounded whatever the names and
// arguments are, and say what was called, what is missing and what to do.

namespace opyard {
namespace {

constexpr size_t kMaxName = 200;
constexpr size_t kMaxArgumentName = 40;
constexpr uint32_t kMaxArguments = 8;
constexpr uint32_t kMaxElements = 4;
constexpr int kMaxKeys = 12;

std::string clipped(std::string_view text, size_t size) {
  return text.size() <= size ? std::string(text) : str_cat(text.substr(0, size), "…");
}

std::string quoted_name(const OperatorEntry& op) {
  return str_cat("'", clipped(op.name(), kMaxName), "'");
}

// Collects words into "a, b, c, …".
class Words {
 public:
  explicit Words(int most) : left_(most) {}
  void add(const std::string& word) {
    if (left_ == 0) text_ += ", …";
    if (left_ > 0) text_ += (text_.empty() ? "" : ", ") + word;
    if (left_ >= 0) --left_;
  }
  bool empty() const noexcept { return text_.empty(); }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  int left_;
};

std::string describe_tensor(const IValue& value) {
  if (!value.is(Tag::kTensor) || !value.to_tensor().defined()) return "None";
  return str_cat(describe(value.to_tensor()), ", ", to_string(value.to_tensor().layout()));
}

std::string describe_argument(const IValue& value) {
  if (value.is(Tag::kTensor)) return describe_tensor(value);
  const bool tensors = value.is_list_of(Tag::kTensor);
  if (!tensors && !value.is_list_of(Tag::kNone)) return describe(value);
  Words elements(kMaxElements);
  if (tensors) {
    for (const Tensor& each : value.to_tensor_list()) elements.add(describe_tensor(IValue(each)));
  } else {
    for (const IValue& each : value.to_list()) elements.add(describe_tensor(each));
  }
  return str_cat("[", elements.text(), "]");
}

std::string describe_arguments(const OperatorEntry& op, const IValue* in, uint32_t n_in) {
  const FunctionSchema* schema = op.schema();
  std::string text = "(";
  for (uint32_t i = 0; i < n_in; ++i) {
    if (i > 0) text += "; ";
    if (i == kMaxArguments) return str_cat(text, n_in - i, " more)");
    if (schema && i < schema->arguments.size()) {
      text += clipped(schema->arguments[i].name, kMaxArgumentName) + ": ";
    }
    text += describe_argument(in[i]);
  }
  return text + ")";
}

bool is_defined_tensor(const IValue& value) {
  return value.is(Tag::kTensor) && value.to_tensor().defined();
}

bool has_tensors(const IValue* in, uint32_t n_in) {
  for (uint32_t i = 0; i < n_in; ++i) {
    if (is_defined_tensor(in[i])) return true;
    if (in[i].is_list_of(Tag::kTensor) && in[i].list_size() > 0) return true;
    if (!in[i].is_list_of(Tag::kNone)) continue;
    for (const IValue& each : in[i].to_list()) {
      if (is_defined_tensor(each)) return true;
    }
  }
  return false;
}

// A kernel that computes something, at a slot of its own.
bool is_real(const OperatorTable& table, int slot) {
  const Kernel& kernel = table.kernel_at(slot);
  return slot > 0 && kernel.kind == KernelKind::kOrdinary && !kernel.built_in;
}
bool is_real(const OperatorTable& table, DispatchKey key) { return is_real(table, slot_of(key)); }

// Names what computes. Composites are counted, and so are fallthroughs and fallbacks that only pass
// on.
std::string describe_kernels(const OperatorTable& table) {
  Words real(kMaxKeys);
  int composite = 0;
  int passing = 0;
  for (int i = 0; i < kNumSlots; ++i) {
    const KernelKind kind = table.kernel_at(i).kind;
    if (kind == KernelKind::kFallthrough || kind == KernelKind::kPassDown) ++passing;
    if (!is_real(table, i)) continue;
    const bool own = table.reasons[i] == Reason::kKernel || table.reasons[i] == Reason::kFallback;
    own ? real.add(to_string(key_of_slot(i))) : static_cast<void>(++composite);
  }
  std::string text = "It has ";
  if (real.empty() && composite == 0) {
    text += "no kernel at all";
  } else {
    text += real.empty() ? "no kernel of a key's own" : str_cat("kernels for ", real.text());
    if (composite > 0) text += str_cat(", and composite ones for ", composite, " keys");
  }
  if (passing > 0) text += str_cat(" (", passing, " keys only pass calls on)");
  return text;
}

// "cpu or cuda": where the operator has a kernel for plain tensors.
std::string devices_with_kernels(const OperatorTable& table) {
  std::string text;
  int found = 0;
  for (int b = 1; b <= kNumBackends; ++b) {
    const auto backend = static_cast<Backend>(b);
    const bool computes = is_real(table, runtime_key(DispatchKey::Dense, backend));
    if (backend == Backend::kMeta || !computes || ++found > 3) continue;
    text += (text.empty() ? "" : " or ") + to_string(Device(backend));
  }
  return text;
}

std::string fix_for(const OperatorTable& table, DispatchKey key) {
  const Backend backend = backend_of(key);
  const DispatchKey functionality = functionality_of(key);
  if (backend == Backend::kNone || functionality == DispatchKey::AutogradFunctionality) {
    return str_cat("Register a kernel or a fallback at ", to_string(key),
                   ", or keep that key out of the call (exclude it, or redispatch below it).");
  }
  const std::string device = to_string(Device(backend));
  if (functionality != DispatchKey::Dense &&
      is_real(table, runtime_key(DispatchKey::Dense, backend))) {
    return str_cat("Make the arguments plain (strided) tensors on ", device, ".");
  }
  const std::string devices = devices_with_kernels(table);
  return str_cat(devices.empty() ? "Load" : str_cat("Move the arguments to ", devices, ", or load"),
                 " a plugin that has this operator for ", device,
                 "; 'explain' shows how the call was routed.");
}

// Which keys there were and what became of them.
std::string describe_loss(Keys keys, KeySet arguments) {
  const KeySet brought = arguments | included_keys();
  const KeySet after_thread = brought - excluded_keys();
  const KeySet masked = keys.table->masked(after_thread);
  std::string text = str_cat("The arguments bring ", to_string(arguments), ", the thread adds ",
                             to_string(included_keys()));
  const auto lost = [&](KeySet before, KeySet after, std::string_view how) {
    const KeySet gone = before - after;
    if (!gone.keys().empty()) text += str_cat("; ", how, " ", to_string(gone));
  };
  lost(brought, after_thread, "excluded by the thread:");
  lost(after_thread, masked, "passed over because they fall through:");
  lost(masked, keys.set, "left out by the caller's redispatch:");
  return text;
}

[[noreturn]] void raise_at(const OperatorEntry& op, DispatchKey key, Code code,
                           std::string message) {
  throw Error(code, std::move(message)).with_op(op.name()).with_key(to_string(key));
}

// Nothing says which kernel is meant: why, and what to do.
std::string describe_undefined(Keys keys, const IValue* in, uint32_t n_in) {
  const DispatchKey functionality = keys.set.highest_functionality();
  if (functionality != DispatchKey::Undefined) {
    return str_cat(": the keys name ", to_string(functionality),
                   " without a backend. Name the two together, as in ",
                   to_string(runtime_key(functionality, Backend::kCPU)), ".");
  }
  if (!has_tensors(in, n_in)) {
    return ": there were no tensor arguments, so nothing says which backend is meant. Pass a "
           "tensor, or register the operator at CompositeExplicitAutograd or BackendSelect.";
  }
  const KeySet arguments = boxed_keys(keys.table->key_positions, in, n_in);
  return str_cat(": no key was left. ", describe_loss(keys, arguments), ".");
}

}  // namespace

void raise_missing(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  const DispatchKey key = keys.set.highest_priority();
  std::string message =
      str_cat("no kernel for the operator ", quoted_name(op), " at the key ", to_string(key));
  message += key == DispatchKey::Undefined ? describe_undefined(keys, in, n_in) : ".";
  message += str_cat(" It was called with ", describe_arguments(op, in, n_in),
                     "; keys after thread state: ", to_string(keys.set), ". ",
                     describe_kernels(*keys.table), ".");
  if (key != DispatchKey::Undefined) message += " " + fix_for(*keys.table, key);
  raise_at(op, key, Code::kUnimplemented, std::move(message));
}

void raise_ambiguous(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  Words backends(kMaxKeys);
  for (int i = 1; i < kNumSlots; ++i) {
    const DispatchKey key = key_of_slot(i);
    const bool shares = (groups_of(key) & kGroupBackend) &&
                        functionality_of(key) != DispatchKey::Dense &&
                        keys.table->reasons[i] == Reason::kKernel;
    if (shares) backends.add(to_string(key));
  }
  raise_at(op, DispatchKey::AutogradOther, Code::kUnimplemented,
           str_cat("the kernel of ", quoted_name(op),
                   " at AutogradOther is ambiguous: it has one at CompositeImplicitAutograd, and "
                   "of the backends that share AutogradOther it has one for ",
                   backends.text(),
                   ". Register a kernel at AutogradOther that says which of them differentiates, "
                   "or use a backend with an Autograd key of its own."));
}

void raise_unbound() {
  raise(Code::kFailedPrecondition,
        "the operators of this process are not registered; construct an opyard::Yard (or call "
        "opyard::initialize()) before the first call");
}

void raise_gone(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  raise_at(op, DispatchKey::Undefined, Code::kNotFound,
           str_cat("the operator ", quoted_name(op),
                   " is no longer registered; load the plugin that defines it again"));
}

void raise_meta(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  const std::string_view name = op.name();
  const std::string_view name_space = name.substr(0, std::min(name.find("::"), name.size()));
  raise_at(op, DispatchKey::Meta, Code::kUnimplemented,
           str_cat("no kernel for the operator ", quoted_name(op),
                   " at the key Meta: the shape of its result is not known without computing it. "
                   "It was called with ",
                   describe_arguments(op, in, n_in),
                   ". Give it a shape function with OPYARD_LIBRARY_IMPL(",
                   clipped(name_space, kMaxArgumentName),
                   ", Meta, m), or call it with tensors of a device that computes."));
}

void raise_fallthrough(const Kernel&, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const OperatorEntry& op = keys.op();
  const std::string key = to_string(keys.set.highest_priority());
  raise_at(op, keys.set.highest_priority(), Code::kInternal,
           str_cat("the operator ", quoted_name(op), " was sent to ", key,
                   ", where it falls through and has nothing to run; a redispatch uses its keys as "
                   "they are, so leave out ",
                   key, " (the keys that a kernel is called with have been masked already)"));
}

void pass_down_boxed(const Kernel&, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                     uint32_t n_out) {
  invoke_boxed(CallLabel::kRedispatchBoxed, keys.with(keys.set - kAutogradKeys), in, n_in, out,
               n_out);
}

}  // namespace opyard
