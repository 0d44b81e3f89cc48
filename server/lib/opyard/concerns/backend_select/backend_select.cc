#include "opyard/concerns/backend_select/backend_select.h"

#include "opyard/base/check.h"

namespace opyard::backend_select {

KeySet factory_keys(std::optional<ScalarType> dtype, std::optional<Layout> layout,
                    std::optional<Device> device) {
  OPYARD_CHECK(!dtype || is_valid(*dtype), kInvalidArgument, "unknown dtype number ",
               static_cast<int>(*dtype));
  OPYARD_CHECK(!layout || *layout == Layout::kStrided, kUnimplemented, "the layout ",
               to_string(*layout), " has no tensors yet; wanted is strided");
  const Backend backend = device ? device->type : Backend::kCPU;
  return KeySet(runtime_key(DispatchKey::Dense, backend));
}

}  // namespace opyard::backend_select
