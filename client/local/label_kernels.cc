#include "client/local/label_kernels.h"

#include "opyard/base/check.h"
#include "opyard/dispatch/boxing.h"

namespace opyard::client {
namespace {

thread_local LabelKernels* scope = nullptr;

// Below all Autograd keys for an autograd kernel, below its own functionality for any other.
KeySet below(KeySet keys) {
  const DispatchKey key = keys.highest_priority();
  const bool autograd = groups_of(key) & kGroupAutograd;
  return keys & KeySet::below(autograd ? DispatchKey::AutogradOther : key);
}

Tensor new_tensor() { return make_tensor({0}, ScalarType::kFloat32); }

const Tensor* first_tensor(const Tensor& tensor) { return &tensor; }
const Tensor* first_tensor(const std::optional<Tensor>& tensor) {
  return tensor ? &*tensor : nullptr;
}
const Tensor* first_tensor(ArrayRef<Tensor> tensors) {
  return tensors.empty() ? nullptr : &tensors[0];
}
const Tensor* first_tensor(ArrayRef<std::optional<Tensor>> tensors) {
  for (const auto& tensor : tensors) {
    if (tensor) return &*tensor;
  }
  return nullptr;
}

}  // namespace

// What kernels may see of LabelKernels.
struct LabelCalls {
  static void boxed(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                    uint32_t n_out) {
    const auto& spec = *static_cast<const LabelKernels::Spec*>(kernel.self);
    spec.owner->trail_.push_back(spec.label);
    if (spec.redispatch) {
      const Keys next = keys.with(below(keys.set));
      const Kernel& target = next.table->kernel(next.set);
      return target.boxed(target, next, in, n_in, out, n_out);
    }
    Tensor first;
    for (uint32_t i = 0; i < n_in && !first.defined(); ++i) {
      if (in[i].is(Tag::kTensor)) first = in[i].to_tensor();
      if (in[i].is_list_of(Tag::kTensor) && in[i].list_size() > 0)
        first = in[i].to_tensor_list()[0];
    }
    for (uint32_t i = 0; i < n_out; ++i) out[i] = IValue(first.defined() ? first : new_tensor());
  }

  // A typed kernel has no room for its label: it asks the table which kernel it is.
  static void record(Keys keys) { scope->trail_.push_back(keys.table->kernel(keys.set).debug); }
};

namespace {

template <typename... A>
struct Typed {
  template <bool kRedispatch>
  static Tensor kernel(Keys keys, A... arguments) {
    LabelCalls::record(keys);
    if constexpr (kRedispatch) {
      return invoke<Tensor, A...>(keys.with(below(keys.set)), arguments...);
    }
    const Tensor* first = nullptr;
    ((first = first ? first : first_tensor(arguments)), ...);
    return first ? *first : new_tensor();
  }
  static void add(Library& block, const std::string& op, bool redispatch) {
    block.impl(op, redispatch ? &kernel<true> : &kernel<false>);
  }
  static void call(const Dispatcher& dispatcher, OperatorHandle op, const Stack& values) {
    apply(values, std::index_sequence_for<A...>(),
          [&](A... arguments) { dispatcher.call<Tensor, A...>(op, arguments...); });
  }
  static void redispatch(const Dispatcher& dispatcher, OperatorHandle op, KeySet keys,
                         const Stack& values) {
    apply(values, std::index_sequence_for<A...>(),
          [&](A... arguments) { dispatcher.redispatch<Tensor, A...>(op, keys, arguments...); });
  }
  template <size_t... I, typename F>
  static void apply([[maybe_unused]] const Stack& values, std::index_sequence<I...>, F call) {
    std::tuple<Unboxed<A>...> unboxed{Unboxed<A>(values[I])...};
    call(std::get<I>(unboxed).get()...);
  }
  static TypedForm form(std::vector<std::string> arguments) {
    return {std::move(arguments), &add, &call, &redispatch};
  }
};

using T = const Tensor&;
using MaybeT = const std::optional<Tensor>&;
using Ts = ArrayRef<Tensor>;
using MaybeTs = ArrayRef<std::optional<Tensor>>;

const std::vector<TypedForm>& forms() {
  static const std::vector<TypedForm> all = {
      Typed<>::form({}),
      Typed<T>::form({"Tensor"}),
      Typed<T, T>::form({"Tensor", "Tensor"}),
      Typed<T, T, T>::form({"Tensor", "Tensor", "Tensor"}),
      Typed<T, T, T, T>::form({"Tensor", "Tensor", "Tensor", "Tensor"}),
      Typed<MaybeT>::form({"Tensor?"}),
      Typed<Ts>::form({"Tensor[]"}),
      Typed<MaybeTs>::form({"Tensor?[]"}),
      Typed<T, MaybeT>::form({"Tensor", "Tensor?"}),
      Typed<T, Ts>::form({"Tensor", "Tensor[]"}),
      Typed<T, MaybeTs>::form({"Tensor", "Tensor?[]"}),
  };
  return all;
}

}  // namespace

const TypedForm* typed_form(const FunctionSchema& schema) {
  const bool one_tensor =
      schema.returns.size() == 1 && to_string(schema.returns[0].type) == "Tensor";
  if (!one_tensor || schema.is_mutable()) return nullptr;
  std::vector<std::string> arguments;
  for (const Argument& argument : schema.arguments) arguments.push_back(to_string(argument.type));
  for (const TypedForm& form : forms()) {
    if (form.arguments == arguments) return &form;
  }
  return nullptr;
}

const LabelKernels::Spec& LabelKernels::spec_for(const CaseKernel& kernel) {
  for (const Spec& spec : specs_) {
    if (spec.label == kernel.label && spec.redispatch == kernel.redispatch) return spec;
  }
  return specs_.emplace_back(Spec{this, kernel.label, kernel.redispatch});
}

void LabelKernels::add(Library& block, const std::string& op, const CaseKernel& kernel,
                       const TypedForm* form) {
  if (kernel.is_fallthrough()) {
    op.empty() ? block.fallback(Fallthrough()) : block.impl(op, Fallthrough());
    return;
  }
  const Spec& spec = spec_for(kernel);
  const BoxedKernel boxed{&LabelCalls::boxed, const_cast<Spec*>(&spec)};
  if (op.empty()) {
    block.fallback(boxed);
  } else if (form) {
    form->add(block, op, kernel.redispatch);
  } else {
    block.impl(op, boxed);
  }
  block.label(kernel.label);
}

std::vector<std::string> LabelKernels::take_trail() { return std::exchange(trail_, {}); }

LabelScope::LabelScope(LabelKernels& kernels) { scope = &kernels; }
LabelScope::~LabelScope() { scope = nullptr; }

}  // namespace opyard::client
