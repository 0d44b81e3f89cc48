#pragma once

#include "kernels/shape/operand.h"
#include "opyard/dispatch/table.h"

// What the generated wrappers of structured operators are made of: checks of the arguments, then
// the result from what the shape function said. Everything here stays on in release builds.

namespace opyard::shape {

// Pointwise operators take 0-d host tensors beside tensors of any device, and a result that is
// exactly one of the inputs; others do not.
enum class Kind { kPointwise, kReduction, kPlain };

// A tensor argument or a list of them, with its name for messages. Borrowed.
struct Input {
  Input(const char* argument, const Tensor& tensor) : name(argument), tensors(&tensor, 1) {}
  Input(const char* argument, TensorList list) : name(argument), tensors(list) {}
  const char* name;
  TensorList tensors;
};
using Inputs = ArrayRef<Input>;

// The one device of the inputs, which is the one that the call was routed to. Raises
// INVALID_ARGUMENT for undefined tensors and for mixed devices, naming the arguments.
Device common_device(Keys keys, Inputs inputs, Kind kind);

Tensor allocate(const Result<int64_t>& result, Device device);

// Whether `self` can take the result: shape, dtype, one element per place, no partial overlap with
// an input.
void check_inplace(const Tensor& self, const Result<int64_t>& result, Device device, Inputs inputs,
                   Kind kind);
// The same for an out argument, which is resized where its shape differs.
void prepare_out(Tensor& out, const Result<int64_t>& result, Device device, Inputs inputs,
                 Kind kind);

// False for meta tensors and those without elements: no kernel is called then.
inline bool has_work(const Tensor& out) { return !out.device().is_meta() && out.numel() > 0; }

// Notes that a tensor was written to, and returns it.
inline Tensor& written(Tensor& tensor) {
  tensor.storage()->bump_version();
  return tensor;
}

// Checks that every place of a tensor that is to be written holds one element of its own.
void check_writable(const char* name, const Tensor& tensor);

// Lets the exception that is being handled go on, with the operator's name where it had none.
[[noreturn]] void rethrow_named(Error& error, const char* op);

}  // namespace opyard::shape
