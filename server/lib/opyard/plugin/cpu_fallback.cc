#include "opyard/plugin/cpu_fallback.h"

#include <unordered_map>
#include <vector>

#include "kernels/shape/layout.h"
#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/device_kernels.h"
#include "opyard/plugin/device_runtime.h"

namespace opyard::plugin {
namespace {

bool is_host_scalar(const Tensor& tensor) { return tensor.device().is_cpu() && tensor.dim() == 0; }

// One call that goes by the CPU.
class Detour {
 public:
  Detour(const FunctionSchema& schema, Backend backend) : schema_(schema), backend_(backend) {}

  void check_schema() const;
  std::vector<IValue> to_host(const IValue* in, uint32_t n_in);
  // Writes what the operator has changed on the CPU into the tensors that it was given.
  void write_back(const IValue* in, const std::vector<IValue>& on_host) const;
  IValue from_host(uint32_t number, IValue result, const IValue* in) const;

 private:
  Tensor to_host(const Tensor& tensor, const std::string& name);
  IValue to_host(const IValue& value, const std::string& name);
  IValue to_device(const IValue& value) const;
  Tensor to_device(const Tensor& tensor) const;
  static void write_back(const Tensor& to, const Tensor& on_host);
  // The argument that a result is, by its alias annotation; -1: none.
  int argument_of(uint32_t result) const;

  const FunctionSchema& schema_;
  const Backend backend_;
  std::unordered_map<const TensorImpl*, Tensor> copies_;  // a tensor given twice is one copy
  std::optional<Device> device_;                          // of the tensors
  std::optional<Device> wanted_;                          // by an argument, for the results
  std::string named_;                                     // the argument that told the device
};

void Detour::check_schema() const {
  for (uint32_t i = 0; i < schema_.returns.size(); ++i) {
    const auto& alias = schema_.returns[i].alias;
    OPYARD_CHECK(
        !alias || argument_of(i) >= 0, kUnimplemented, "the result of '", schema_.full_name(),
        "' shares memory with an argument, which a computation on the CPU cannot give to a "
        "tensor on '",
        to_string(Device(backend_)), "'; the plugin of that device needs a kernel for it");
  }
}

int Detour::argument_of(uint32_t result) const {
  const auto& alias = schema_.returns[result].alias;
  if (!alias || !alias->is_write || schema_.returns[result].type.is_list) return -1;
  for (size_t i = 0; i < schema_.arguments.size(); ++i) {
    const auto& of_argument = schema_.arguments[i].alias;
    if (of_argument && of_argument->is_write && of_argument->before == alias->before) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

Tensor Detour::to_host(const Tensor& tensor, const std::string& name) {
  if (!tensor.defined() || is_host_scalar(tensor)) return tensor;
  const Device device = tensor.device();
  OPYARD_CHECK(!device_ || same_device(*device_, device), kInvalidArgument, "'", named_, "' is on ",
               to_string(device_.value_or(device)), " and '", name, "' on ", to_string(device),
               "; copy one of them to the other's device");
  if (!device_) named_ = name;
  device_ = device;
  Tensor& copy = copies_[tensor.unsafe_impl()];
  if (!copy.defined()) copy = copied_to_host(tensor);
  return copy;
}

IValue Detour::to_host(const IValue& value, const std::string& name) {
  if (value.is(Tag::kTensor)) return to_host(value.to_tensor(), name);
  if (value.is(Tag::kDevice)) {
    wanted_ = value.to_device();
    return wanted_->type == backend_ ? IValue(Device(Backend::kCPU)) : value;
  }
  if (value.is_list_of(Tag::kTensor)) {
    std::vector<Tensor> copies;
    for (const Tensor& each : value.to_tensor_list()) copies.push_back(to_host(each, name));
    return IValue(copies);
  }
  if (value.is_list_of(Tag::kNone)) {
    std::vector<IValue> copies;
    for (const IValue& each : value.to_list()) copies.push_back(to_host(each, name));
    return IValue::list(copies);
  }
  return value;
}

std::vector<IValue> Detour::to_host(const IValue* in, uint32_t n_in) {
  std::vector<IValue> on_host;
  on_host.reserve(n_in);
  for (uint32_t i = 0; i < n_in; ++i) {
    on_host.push_back(to_host(
        in[i], i < schema_.arguments.size() ? schema_.arguments[i].name : std::string("…")));
    OPYARD_CHECK(!in[i].is(Tag::kDict) && !in[i].is(Tag::kTuple), kUnimplemented,
                 "the computation on the CPU takes no dicts and tuples, as '", schema_.full_name(),
                 "' has them; the plugin of '", to_string(Device(backend_)),
                 "' needs a kernel for it");
  }
  return on_host;
}

void Detour::write_back(const Tensor& to, const Tensor& on_host) {
  if (!to.defined() || to.is_same(on_host)) return;
  if (to.sizes() != on_host.sizes()) to.unsafe_impl()->resize_contiguous(on_host.sizes());
  copy_from_host(on_host, to);
  to.storage()->bump_version();
}

void Detour::write_back(const IValue* in, const std::vector<IValue>& on_host) const {
  for (size_t i = 0; i < on_host.size() && i < schema_.arguments.size(); ++i) {
    const auto& alias = schema_.arguments[i].alias;
    if (!alias || !alias->is_write) continue;
    if (in[i].is(Tag::kTensor)) write_back(in[i].to_tensor(), on_host[i].to_tensor());
    if (!in[i].is_list_of(Tag::kTensor)) continue;
    const ArrayRef<Tensor> given = in[i].to_tensor_list();
    const ArrayRef<Tensor> changed = on_host[i].to_tensor_list();
    for (size_t each = 0; each < given.size(); ++each) write_back(given[each], changed[each]);
  }
}

Tensor Detour::to_device(const Tensor& tensor) const {
  if (!tensor.defined() || !tensor.device().is_cpu()) return tensor;
  const Device device = wanted_ ? *wanted_ : device_.value_or(Device(backend_));
  if (device.is_cpu()) return tensor;
  const bool dense = shape::is_dense(tensor.sizes(), tensor.strides());
  Tensor result = dense ? make_strided(tensor.sizes(), tensor.strides(), tensor.dtype(), device)
                        : make_tensor(tensor.sizes(), tensor.dtype(), device);
  copy_from_host(tensor, result);
  return result;
}

IValue Detour::to_device(const IValue& value) const {
  if (value.is(Tag::kTensor)) return to_device(value.to_tensor());
  if (!value.is_list_of(Tag::kTensor)) return value;
  std::vector<Tensor> moved;
  for (const Tensor& each : value.to_tensor_list()) moved.push_back(to_device(each));
  return IValue(moved);
}

IValue Detour::from_host(uint32_t number, IValue result, const IValue* in) const {
  if (number >= schema_.returns.size()) return to_device(result);
  const int argument = argument_of(number);
  return argument >= 0 ? in[argument] : to_device(result);
}

}  // namespace

void fall_back_to_cpu(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                      uint32_t n_out) {
  auto& runtime = *static_cast<DeviceRuntime*>(kernel.self);
  const OperatorEntry& op = keys.op();
  const OperatorHandle handle(&op);
  Detour detour(handle.schema(), runtime.backend());
  detour.check_schema();
  const std::vector<IValue> on_host = detour.to_host(in, n_in);
  if (runtime.count_fallback(op.name())) {
    log(LogLevel::kWarning,
        str_cat("'", op.name(), "' has no kernel for '", to_string(Device(runtime.backend())),
                "' in ", runtime.described(),
                "; it is computed on the CPU, with copies there and back, from now on"));
  }
  Stack stack(on_host.begin(), on_host.end());
  Dispatcher::global().redispatch_boxed(handle, KeySet(DispatchKey::CPU), stack);
  OPYARD_CHECK(stack.size() == n_out, kInternal, "'", op.name(), "' gave ", stack.size(),
               " results on the CPU, wanted are ", n_out);
  detour.write_back(in, on_host);
  for (uint32_t i = 0; i < n_out; ++i) out[i] = detour.from_host(i, std::move(stack[i]), in);
}

void refuse_missing(const Kernel& kernel, Keys keys, const IValue*, uint32_t, IValue*, uint32_t) {
  const auto& runtime = *static_cast<const DeviceRuntime*>(kernel.self);
  const OperatorEntry& op = keys.op();
  const std::string key = to_string(keys.set.highest_priority());
  throw Error(Code::kUnimplemented,
              str_cat("no kernel for the operator '", op.name(), "' at the key ", key, ": ",
                      runtime.described(),
                      " has none, and the option cpu_fallback, with which it would be computed on "
                      "the CPU, is off. Copy the arguments to cpu, turn the option on, or load a "
                      "version of the plugin that has this operator"))
      .with_op(op.name())
      .with_key(key);
}

}  // namespace opyard::plugin
