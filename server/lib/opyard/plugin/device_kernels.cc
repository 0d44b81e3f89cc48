#include "opyard/plugin/device_kernels.h"

#include <cmath>

#include "kernels/shape/structured.h"
#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/ops/_local_scalar_dense.h"
#include "opyard/ops/copy.h"
#include "opyard/ops/fill.h"
#include "opyard/plugin/cpu_fallback.h"
#include "opyard/plugin/device_runtime.h"

namespace opyard::composite {

// As the generator declares it; for all devices alike.
Tensor empty(IntList size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory,
             std::optional<MemoryFormat> memory_format);

}  // namespace opyard::composite

namespace opyard::plugin {
namespace {

const DeviceMemory& memory_of(const Tensor& tensor) {
  const auto* memory = dynamic_cast<const DeviceMemory*>(tensor.storage()->allocator());
  OPYARD_CHECK(memory != nullptr, kUnimplemented, "the memory of the tensor (", describe(tensor),
               ") comes from no device plugin and cannot be copied");
  return *memory;
}

// The bytes from the first element of the window to the last.
uint64_t window_bytes(const Tensor& tensor) {
  return static_cast<uint64_t>(checked_nbytes(tensor.sizes(), tensor.strides(), 0, tensor.dtype()));
}

// A CPU tensor with the strides of `tensor` and all that its window spans, gaps too.
Tensor window_on_host(const Tensor& tensor) {
  return make_strided(tensor.sizes(), tensor.strides(), tensor.dtype(), Backend::kCPU);
}

void read_window(const Tensor& from, const Tensor& to) {
  const MemoryUse use(memory_of(from));
  DeviceRuntime& runtime = use.server();
  const uint32_t device = runtime.number_of(from.device());
  runtime.reap();
  runtime.begin_work();
  runtime.calls().copy_out(device, to.raw_data(), from.raw_data(), window_bytes(from));
  runtime.calls().wait(device);
}

// `from` has the strides of `to`.
void write_window(const Tensor& from, const Tensor& to, bool later) {
  MemoryUse use(memory_of(to), later ? LeaseKind::kEvent : LeaseKind::kStream);
  DeviceRuntime& runtime = use.server();
  later = later && runtime.is_published();
  const uint32_t device = runtime.number_of(to.device());
  runtime.reap();
  runtime.begin_work();
  runtime.calls().copy_in(device, to.raw_data(), from.raw_data(), window_bytes(to));
  if (later) {
    runtime.keep_until_done(device, from.storage(), std::move(use));
  } else {
    runtime.calls().wait(device);
  }
}

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.is_contiguous() && b.is_contiguous();
}

// Both on one device, served by one runtime.
bool copy_on_device(const Tensor& from, const Tensor& to) {
  if (!same_layout(from, to) || !same_device(from.device(), to.device())) return false;
  const MemoryUse use(memory_of(to));
  const MemoryUse other(memory_of(from));
  DeviceRuntime& runtime = use.server();
  if (&other.server() != &runtime) return false;
  if (from.raw_data() == to.raw_data()) return true;
  const uint32_t device = runtime.number_of(to.device());
  runtime.begin_work();
  runtime.calls().copy_within(device, to.raw_data(), from.raw_data(), window_bytes(to));
  runtime.end_work(device);
  return true;
}

bool on_plugin_device(const Tensor& tensor) {
  return !tensor.device().is_cpu() && !tensor.device().is_meta();
}

}  // namespace

Tensor copied_to_host(const Tensor& tensor) {
  if (!on_plugin_device(tensor)) return tensor;
  Tensor result = window_on_host(tensor);
  if (tensor.numel() > 0) read_window(tensor, result);
  result.unsafe_impl()->set_wrapped_number(tensor.is_wrapped_number());
  return result;
}

void copy_from_host(const Tensor& from, const Tensor& to, bool later) {
  if (to.numel() == 0) return;
  if (same_layout(from, to) && !later) return write_window(from, to, false);
  Tensor window = window_on_host(to);
  // What lies in the gaps is written back as it was.
  const bool gaps = window_bytes(to) != to.nbytes();
  if (gaps) read_window(to, window);
  ops::copy_(window, from);
  write_window(window, to, later && !gaps);
}

void copy_between(const Tensor& from, const Tensor& to, bool later) {
  if (to.numel() == 0) return;
  if (!on_plugin_device(to)) {
    Tensor target = to;
    ops::copy_(target, copied_to_host(from));
    return;
  }
  if (on_plugin_device(from) && copy_on_device(from, to)) return;
  copy_from_host(copied_to_host(from), to, later);
}

namespace {

Tensor empty(IntList size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory,
             std::optional<MemoryFormat> memory_format) {
  try {
    return composite::empty(size, dtype, layout, device, pin_memory, memory_format);
  } catch (Error& error) {
    shape::rethrow_named(error, "aten::empty.memory_format");
  }
}

// kernel::copy: from, to or within the device. The shapes broadcast, and the windows may overlap in
// full only.
void copy(const Tensor& src, bool non_blocking, Tensor& out) {
  copy_between(src, out, non_blocking);
}

// The same beside a kernel of the plugin, which gets what does not leave the device.
void copy_beside(Keys keys, const Tensor& src, bool non_blocking, Tensor& out) {
  if (!same_device(src.device(), out.device())) return copy_between(src, out, non_blocking);
  src.storage()->check_usable();
  out.storage()->check_usable();
  Dispatcher::global().shadowed_kernel(keys).call<void, const Tensor&, bool, Tensor&>(
      keys, src, non_blocking, out);
}

void fill(const Scalar& value, Tensor& out) {
  const bool zero =
      !value.is_complex() && value.to_double() == 0 && !std::signbit(value.to_double());
  if (zero && out.is_contiguous()) {
    const MemoryUse use(memory_of(out));
    DeviceRuntime& runtime = use.server();
    const uint32_t device = runtime.number_of(out.device());
    runtime.begin_work();
    runtime.calls().clear(device, out.raw_data(), out.nbytes());
    return runtime.end_work(device);
  }
  Tensor filled = make_tensor(out.sizes(), out.dtype());
  copy_from_host(ops::fill_(filled, value), out);
}

Scalar local_scalar_dense(const Tensor& self) {
  return ops::_local_scalar_dense(copied_to_host(self));
}

// What a plugin's blocks register at one key.
class Provided {
 public:
  Provided(ArrayRef<opyard_block> blocks, DispatchKey key) : blocks_(blocks), key_(key) {}

  // `op` with namespace; empty: a fallback.
  bool has(std::string_view op) const {
    for (const opyard_block& block : blocks_) {
      for (uint64_t i = 0; i < block.count; ++i) {
        if (fits(block, block.registrations[i], op)) return true;
      }
    }
    return false;
  }

 private:
  static std::string_view text(opyard_str s) {
    return s.size ? std::string_view(s.data, s.size) : std::string_view();
  }

  bool fits(const opyard_block& block, const opyard_registration& record,
            std::string_view op) const {
    const std::string_view key = record.key.size ? text(record.key) : text(block.key);
    if (key.empty() || try_parse_dispatch_key(key) != key_) return false;
    if (op.empty()) return record.kind == OPYARD_REGISTER_FALLBACK;
    const size_t colons = op.find("::");
    const std::string_view name = text(record.text);
    return record.kind == OPYARD_REGISTER_IMPL && text(block.name_space) == op.substr(0, colons) &&
           (name == op || name == op.substr(colons + 2));
  }

  const ArrayRef<opyard_block> blocks_;
  const DispatchKey key_;
};

}  // namespace

std::vector<Library> DeviceRuntime::libraries(ArrayRef<opyard_block> of_plugin, bool cpu_fallback) {
  const DispatchKey key = runtime_key(DispatchKey::Dense, backend_);
  const Provided provided(of_plugin, key);
  std::vector<Library> all;
  Library& aten = all.emplace_back(BlockKind::kImpl, "aten", to_string(key));
  if (!provided.has("aten::empty.memory_format"))
    aten.impl("empty.memory_format", OPYARD_FN(empty));
  Library& kernel = all.emplace_back(BlockKind::kImpl, "kernel", to_string(key));
  if (provided.has("kernel::copy")) {
    kernel.override_impl("copy", OPYARD_FN(copy_beside));
  } else {
    kernel.impl("copy", OPYARD_FN(copy));
  }
  if (!provided.has("kernel::fill.Scalar")) kernel.impl("fill.Scalar", OPYARD_FN(fill));
  if (!provided.has("kernel::_local_scalar_dense")) {
    kernel.impl("_local_scalar_dense", OPYARD_FN(local_scalar_dense));
  }
  if (!provided.has({})) {
    Library& fallbacks = all.emplace_back(BlockKind::kImpl, "_", to_string(key));
    fallbacks.fallback(BoxedKernel{cpu_fallback ? &fall_back_to_cpu : &refuse_missing, this})
        .label(cpu_fallback ? "computed on the CPU instead" : "raises: the plugin has no kernel");
  }
  return all;
}

}  // namespace opyard::plugin
