#include "kernels/shape/functions.h"
#include "kernels/shape/layout.h"
#include "kernels/shape/structured.h"
#include "opyard/ops/copy.h"
#include "opyard/ops/empty.h"
#include "opyard/ops/fill.h"
#include "opyard/ops/kernel_handles.h"

// Copies, fills and reads of one element: the checks, and then a backend's kernel.

namespace opyard::composite {
namespace {

// An empty tensor like `self`, in its layout where that is dense and to be kept.
Tensor new_like(const Tensor& self, ScalarType dtype, Device device,
                std::optional<MemoryFormat> format) {
  const MemoryFormat wanted = format.value_or(MemoryFormat::kPreserve);
  OPYARD_CHECK(wanted == MemoryFormat::kPreserve || wanted == MemoryFormat::kContiguous,
               kUnimplemented, "the memory format ", to_string(wanted),
               " is not there yet; wanted is preserve_format or contiguous_format");
  if (wanted == MemoryFormat::kPreserve && !self.is_contiguous() &&
      shape::is_dense(self.sizes(), self.strides())) {
    return make_strided(self.sizes(), self.strides(), dtype, device);
  }
  return make_tensor(self.sizes(), dtype, device);
}

}  // namespace

// The source may be on another device; the target's backend is not asked alone then.
Tensor& copy_(Keys keys, Tensor& self, const Tensor& src, bool non_blocking) {
  OPYARD_CHECK(self.defined() && src.defined(), kInvalidArgument, "the argument '",
               self.defined() ? "src" : "self", "' is an undefined tensor");
  if (self.is_same(src)) return self;
  const Dims shape = shape::broadcast(self.sizes(), src.sizes());
  OPYARD_CHECK(IntList(shape) == self.sizes(), kInvalidArgument, "the shape ",
               to_string(src.sizes()), " does not broadcast to the target's shape ",
               to_string(self.sizes()));
  shape::check_writable("self", self);
  if (!shape::has_work(self)) return shape::written(self);
  OPYARD_CHECK(!src.device().is_meta(), kInvalidArgument,
               "'src' is on meta and has no elements to copy");
  if (shape::overlap(self, src) == shape::Overlap::kPartial ||
      shape::overlap(self, src) == shape::Overlap::kUnknown) {
    Tensor between = new_like(src, src.dtype(), src.device(), MemoryFormat::kContiguous);
    handles::kernel::copy.redispatch(keys.set, src, non_blocking, between);
    handles::kernel::copy.redispatch(keys.set, between, non_blocking, self);
  } else {
    handles::kernel::copy.redispatch(keys.set, src, non_blocking, self);
  }
  return shape::written(self);
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  Tensor result = new_like(self, self.dtype(), self.device(), memory_format);
  return ops::copy_(result, self);
}

Tensor _to_copy(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking,
                std::optional<MemoryFormat> memory_format) {
  OPYARD_CHECK(!layout || *layout == Layout::kStrided, kUnimplemented, "the layout ",
               to_string(layout.value_or(Layout::kStrided)),
               " has no tensors yet; wanted is strided");
  OPYARD_CHECK(!pin_memory.value_or(false), kUnimplemented,
               "pinned memory is not there yet; leave pin_memory out");
  Tensor result =
      new_like(self, dtype.value_or(self.dtype()), device.value_or(self.device()), memory_format);
  return ops::copy_(result, self, non_blocking);
}

Tensor& fill_scalar_(Keys keys, Tensor& self, const Scalar& value) {
  shape::common_device(keys, shape::Input("self", self), shape::Kind::kPlain);
  OPYARD_CHECK(!value.is_complex() || is_complex(self.dtype()), kInvalidArgument,
               "the complex number ", to_string(value), " cannot be written into a tensor of ",
               to_string(self.dtype()));
  shape::check_writable("self", self);
  if (shape::has_work(self)) handles::kernel::fill_Scalar.redispatch(keys.set, value, self);
  return shape::written(self);
}

Tensor& zero_(Tensor& self) { return ops::fill_(self, 0); }

Scalar _local_scalar_dense(Keys keys, const Tensor& self) {
  shape::common_device(keys, shape::Input("self", self), shape::Kind::kPlain);
  OPYARD_CHECK(self.numel() == 1, kInvalidArgument, "a tensor of shape ", to_string(self.sizes()),
               " has ", self.numel(), " elements; only one can be read as a number");
  return handles::kernel::_local_scalar_dense.redispatch(keys.set, self);
}

}  // namespace opyard::composite
