#pragma once

#include <optional>

#include "opyard/core/device.h"
#include "opyard/core/dispatch_key_set.h"
#include "opyard/core/scalar_type.h"

namespace opyard::backend_select {

// The keys that a factory goes on with: it has no tensor to take them from, so they come from its
// keyword arguments. Raises UNIMPLEMENTED for a layout that has no tensors, INVALID_ARGUMENT for a
// dtype number that names none.
KeySet factory_keys(std::optional<ScalarType> dtype, std::optional<Layout> layout,
                    std::optional<Device> device);

}  // namespace opyard::backend_select
