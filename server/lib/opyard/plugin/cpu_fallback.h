#pragma once

#include "opyard/dispatch/table.h"

namespace opyard::plugin {

// Boxed fallbacks at a device's key; `self` is the DeviceRuntime.

// Copies the arguments to the CPU, calls the operator there, and copies back what it gives and what
// it has written into. Counted for each operator, and logged the first time. UNIMPLEMENTED for
// operators whose results share memory with an argument that they do not write to; INVALID_ARGUMENT
// for tensors on several devices.
void fall_back_to_cpu(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                      uint32_t n_out);
// UNIMPLEMENTED, naming the plugin and the option that would compute on the CPU.
void refuse_missing(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                    uint32_t n_out);

}  // namespace opyard::plugin
