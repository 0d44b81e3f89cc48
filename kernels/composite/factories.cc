#include <cmath>

#include "kernels/shape/promotion.h"
#include "kernels/shape/structured.h"
#include "opyard/ops/empty.h"
#include "opyard/ops/fill.h"
#include "opyard/ops/kernel_handles.h"
#include "opyard/ops/normal.h"
#include "opyard/ops/uniform.h"

// Factories: memory from the device's allocator, then a kernel that fills it.

namespace opyard::composite {
namespace {

using Dtype = std::optional<ScalarType>;
using Where = std::optional<Device>;

void check_layout(std::optional<Layout> layout, std::optional<bool> pin_memory) {
  OPYARD_CHECK(!layout || *layout == Layout::kStrided, kUnimplemented, "the layout ",
               to_string(layout.value_or(Layout::kStrided)),
               " has no tensors yet; wanted is strided");
  OPYARD_CHECK(!pin_memory.value_or(false), kUnimplemented,
               "pinned memory is not there yet; leave pin_memory out");
}

Tensor new_tensor(IntList size, ScalarType dtype, std::optional<Layout> layout, Where device,
                  std::optional<bool> pin_memory) {
  return handles::empty_memory_format(size, dtype, layout, device, pin_memory, std::nullopt);
}

ScalarType random_dtype(Dtype dtype) {
  const ScalarType result = dtype.value_or(ScalarType::kFloat32);
  OPYARD_CHECK(is_floating(result), kInvalidArgument, "random numbers need a floating dtype, got ",
               to_string(result));
  return result;
}

void check_random_target(const Tensor& self) {
  OPYARD_CHECK(is_floating(self.dtype()), kInvalidArgument,
               "random numbers need a floating tensor, got ", to_string(self.dtype()));
  shape::check_writable("self", self);
}

[[noreturn]] void too_many(const Scalar& start, const Scalar& end) {
  raise(Code::kInvalidArgument,
        str_cat("there are too many numbers from ", to_string(start), " to ", to_string(end)));
}

void check_direction(const Scalar& start, const Scalar& end, const Scalar& step, bool fits) {
  OPYARD_CHECK(step.to_double() != 0, kInvalidArgument, "the step must not be 0");
  OPYARD_CHECK(fits, kInvalidArgument, "steps of ", to_string(step), " do not lead from ",
               to_string(start), " to ", to_string(end));
}

int64_t whole_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  const int64_t first = start.to_int();
  const int64_t last = end.to_int();
  const int64_t by = step.to_int();
  check_direction(start, end, step, first == last || (last > first) == (by > 0));
  if (first == last) return 0;
  // Unsigned: the distance may be larger than the largest integer.
  const auto from = static_cast<uint64_t>(first);
  const auto to = static_cast<uint64_t>(last);
  const uint64_t distance = by > 0 ? to - from : from - to;
  const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : -static_cast<uint64_t>(by);
  const uint64_t count = (distance - 1) / stride + 1;
  if (count > INT64_MAX) too_many(start, end);
  return static_cast<int64_t>(count);
}

// How many numbers lie from start up to but without end.
int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  if (!start.is_double() && !end.is_double() && !step.is_double()) {
    return whole_length(start, end, step);
  }
  const double first = start.to_double();
  const double last = end.to_double();
  const double by = step.to_double();
  OPYARD_CHECK(std::isfinite(first) && std::isfinite(last) && std::isfinite(by), kInvalidArgument,
               "start, end and step must be finite, got ", to_string(start), ", ", to_string(end),
               ", ", to_string(step));
  check_direction(start, end, step, first == last || (last > first) == (by > 0));
  const double count = std::ceil((last - first) / by);
  if (!(count < 9.2e18)) too_many(start, end);
  return static_cast<int64_t>(count);
}

}  // namespace

Tensor empty(IntList size, Dtype dtype, std::optional<Layout> layout, Where device,
             std::optional<bool> pin_memory, std::optional<MemoryFormat> memory_format) {
  check_layout(layout, pin_memory);
  OPYARD_CHECK(!memory_format || *memory_format == MemoryFormat::kContiguous, kUnimplemented,
               "the memory format ", to_string(memory_format.value_or(MemoryFormat::kContiguous)),
               " is not there yet; wanted is contiguous_format");
  return make_tensor(size, dtype.value_or(ScalarType::kFloat32), device.value_or(Backend::kCPU));
}

Tensor full(IntList size, const Scalar& fill_value, Dtype dtype, std::optional<Layout> layout,
            Where device, std::optional<bool> pin_memory) {
  Tensor result =
      new_tensor(size, dtype.value_or(fill_value.default_type()), layout, device, pin_memory);
  return ops::fill_(result, fill_value);
}

Tensor zeros(IntList size, Dtype dtype, std::optional<Layout> layout, Where device,
             std::optional<bool> pin_memory) {
  return full(size, 0, dtype.value_or(ScalarType::kFloat32), layout, device, pin_memory);
}

Tensor ones(IntList size, Dtype dtype, std::optional<Layout> layout, Where device,
            std::optional<bool> pin_memory) {
  return full(size, 1, dtype.value_or(ScalarType::kFloat32), layout, device, pin_memory);
}

Tensor rand(IntList size, Dtype dtype, std::optional<Layout> layout, Where device,
            std::optional<bool> pin_memory) {
  Tensor result = new_tensor(size, random_dtype(dtype), layout, device, pin_memory);
  return ops::uniform_(result, 0, 1);
}

Tensor randn(IntList size, Dtype dtype, std::optional<Layout> layout, Where device,
             std::optional<bool> pin_memory) {
  Tensor result = new_tensor(size, random_dtype(dtype), layout, device, pin_memory);
  return ops::normal_(result, 0, 1);
}

Tensor arange_start_step(const Scalar& start, const Scalar& end, const Scalar& step, Dtype dtype,
                         std::optional<Layout> layout, Where device,
                         std::optional<bool> pin_memory) {
  const bool whole = !start.is_double() && !end.is_double() && !step.is_double();
  const ScalarType type = dtype.value_or(whole ? ScalarType::kInt64 : ScalarType::kFloat32);
  Tensor result = new_tensor(arange_length(start, end, step), type, layout, device, pin_memory);
  if (shape::has_work(result)) {
    handles::kernel::arange_start_out(start, end, step, result);
  }
  return result;
}

Tensor arange_start(const Scalar& start, const Scalar& end, Dtype dtype,
                    std::optional<Layout> layout, Where device, std::optional<bool> pin_memory) {
  return arange_start_step(start, end, 1, dtype, layout, device, pin_memory);
}

Tensor arange(const Scalar& end, Dtype dtype, std::optional<Layout> layout, Where device,
              std::optional<bool> pin_memory) {
  return arange_start_step(0, end, 1, dtype, layout, device, pin_memory);
}

Tensor& arange_start_out(Keys keys, const Scalar& start, const Scalar& end, const Scalar& step,
                         Tensor& out) {
  const int64_t length = arange_length(start, end, step);
  shape::common_device(keys, shape::Input("out", out), shape::Kind::kPlain);
  if (out.dim() != 1 || out.numel() != length) out.unsafe_impl()->resize_contiguous(length);
  shape::check_writable("out", out);
  if (shape::has_work(out)) {
    handles::kernel::arange_start_out.redispatch(keys.set, start, end, step, out);
  }
  return shape::written(out);
}

Tensor& uniform_(Keys keys, Tensor& self, double from, double to,
                 const IntrusivePtr<Generator>& generator) {
  shape::common_device(keys, shape::Input("self", self), shape::Kind::kPlain);
  check_random_target(self);
  OPYARD_CHECK(std::isfinite(from) && std::isfinite(to) && from <= to, kInvalidArgument,
               "from must be at most to and both finite, got ", from, " and ", to);
  if (shape::has_work(self)) {
    handles::kernel::uniform.redispatch(keys.set, from, to, generator, self);
  }
  return shape::written(self);
}

Tensor& normal_(Keys keys, Tensor& self, double mean, double std,
                const IntrusivePtr<Generator>& generator) {
  shape::common_device(keys, shape::Input("self", self), shape::Kind::kPlain);
  check_random_target(self);
  OPYARD_CHECK(std >= 0, kInvalidArgument, "the deviation must not be negative, got ", std);
  if (shape::has_work(self)) {
    handles::kernel::normal.redispatch(keys.set, mean, std, generator, self);
  }
  return shape::written(self);
}

}  // namespace opyard::composite
