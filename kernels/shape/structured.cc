#include "kernels/shape/structured.h"

#include "kernels/shape/layout.h"
#include "kernels/shape/promotion.h"

namespace opyard::shape {
namespace {

bool is_host_scalar(const Tensor& tensor) { return tensor.dim() == 0 && tensor.device().is_cpu(); }

void check_defined(const Input& input) {
  for (const Tensor& tensor : input.tensors) {
    OPYARD_CHECK(tensor.defined(), kInvalidArgument, "the argument '", input.name,
                 "' is an undefined tensor");
  }
}

// The tensor whose device counts: the first that is no 0-d host tensor, else the first.
const Tensor* leading(Inputs inputs, const char** name) {
  const Tensor* first = nullptr;
  for (const Input& input : inputs) {
    for (const Tensor& tensor : input.tensors) {
      if (first && is_host_scalar(tensor)) continue;
      if (first && !is_host_scalar(*first)) return first;
      first = &tensor;
      *name = input.name;
    }
  }
  return first;
}

void check_cast(const char* name, ScalarType result, ScalarType into) {
  OPYARD_CHECK(can_cast(result, into), kInvalidArgument, "the result is ", to_string(result),
               " and cannot be written into '", name, "', which is ", to_string(into));
}

void check_overlap(const char* name, const Tensor& out, Inputs inputs, Kind kind) {
  for (const Input& input : inputs) {
    for (const Tensor& tensor : input.tensors) {
      const Overlap found = overlap(out, tensor);
      const bool fine =
          found == Overlap::kNone || (kind == Kind::kPointwise && found != Overlap::kPartial);
      OPYARD_CHECK(fine, kInvalidArgument, "'", name, "' shares memory with the input '",
                   input.name, "'; clone the input first");
    }
  }
}

void check_resizable(const Tensor& out, const Result<int64_t>& result, Inputs inputs) {
  for (const Input& input : inputs) {
    for (const Tensor& tensor : input.tensors) {
      OPYARD_CHECK(!(tensor.storage() == out.storage()), kInvalidArgument, "'out' has the shape ",
                   to_string(out.sizes()), " and needs ", to_string(IntList(result.sizes)),
                   ", but cannot be resized, because it shares memory with '", input.name, "'");
    }
  }
}

// That no tensor's memory was taken away with the plugin that it came from.
void check_usable(Inputs inputs) {
  for (const Input& input : inputs) {
    for (const Tensor& tensor : input.tensors) tensor.storage()->check_usable();
  }
}

}  // namespace

Device common_device(Keys keys, Inputs inputs, Kind kind) {
  for (const Input& input : inputs) check_defined(input);
  const char* name = "";
  const Tensor* lead = leading(inputs, &name);
  OPYARD_CHECK(lead != nullptr, kInvalidArgument, "there is no tensor among the arguments");
  const Device device = lead->device();
  for (const Input& input : inputs) {
    for (const Tensor& tensor : input.tensors) {
      if (same_device(tensor.device(), device)) continue;
      if (kind == Kind::kPointwise && is_host_scalar(tensor)) continue;
      raise(Code::kInvalidArgument,
            str_cat("'", name, "' is on ", to_string(device), " and '", input.name, "' on ",
                    to_string(tensor.device()), "; copy one of them to the other's device"));
    }
  }
  OPYARD_CHECK(device.type == keys.set.highest_backend(), kInvalidArgument,
               "the call was routed to ", to_string(keys.set.highest_backend()),
               ", but its tensors are on ", to_string(device));
  if (!device.is_cpu()) check_usable(inputs);
  return device;
}

Tensor allocate(const Result<int64_t>& result, Device device) {
  if (result.strides.empty()) return make_tensor(result.sizes, result.dtype, device);
  return make_strided(result.sizes, result.strides, result.dtype, device);
}

void check_writable(const char* name, const Tensor& tensor) {
  OPYARD_CHECK(!overlaps_itself(tensor), kInvalidArgument, "several places of '", name, "' (shape ",
               to_string(tensor.sizes()), ", strides ", to_string(tensor.strides()),
               ") are one element, as after expand; clone it before writing to it");
}

void check_inplace(const Tensor& self, const Result<int64_t>& result, Device device, Inputs inputs,
                   Kind kind) {
  OPYARD_CHECK(self.sizes() == IntList(result.sizes), kInvalidArgument, "the result has the shape ",
               to_string(IntList(result.sizes)), " and does not fit in place into the shape ",
               to_string(self.sizes()));
  OPYARD_CHECK(same_device(self.device(), device), kInvalidArgument, "'self' is on ",
               to_string(self.device()), ", the other tensors on ", to_string(device));
  self.storage()->check_usable();
  check_cast("self", result.dtype, self.dtype());
  check_writable("self", self);
  check_overlap("self", self, inputs, kind);
}

void prepare_out(Tensor& out, const Result<int64_t>& result, Device device, Inputs inputs,
                 Kind kind) {
  OPYARD_CHECK(out.defined(), kInvalidArgument, "the argument 'out' is an undefined tensor");
  OPYARD_CHECK(same_device(out.device(), device), kInvalidArgument, "'out' is on ",
               to_string(out.device()), ", the inputs are on ", to_string(device));
  out.storage()->check_usable();
  check_cast("out", result.dtype, out.dtype());
  if (!(out.sizes() == IntList(result.sizes))) {
    check_resizable(out, result, inputs);
    out.unsafe_impl()->resize_contiguous(result.sizes);
  }
  check_writable("out", out);
  check_overlap("out", out, inputs, kind);
}

void rethrow_named(Error& error, const char* op) {
  if (error.op().empty()) error.with_op(op).prefix(op);
  throw;
}

}  // namespace opyard::shape
