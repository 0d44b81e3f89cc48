#pragma once

#include "opyard/core/tensor.h"

namespace opyard::plugin {

// What every device with a runtime can do: the kernels that DeviceRuntime::libraries() registers.
// Within a call.

// A row-major or strided copy of the elements on the CPU, with the shape, dtype and kind of number
// of `tensor`; complete on return. A CPU tensor is returned as it is.
Tensor copied_to_host(const Tensor& tensor);
// Writes the elements of a CPU tensor into `to`, on a device, which has the same shape; converts
// and lays out on the CPU. With `later` it may be done after the return, before whatever the device
// does next; `from` may be changed at once.
void copy_from_host(const Tensor& from, const Tensor& to, bool later = false);
// Between any two devices: `to` has the shape that `from` broadcasts to.
void copy_between(const Tensor& from, const Tensor& to, bool later = false);

}  // namespace opyard::plugin
