#pragma once

#include "opyard/dispatch/schema.h"

namespace opyard {

// Whether kernels can read the value as this type of a schema. An int counts as a float, too.
bool has_type(const IValue& value, const SchemaType& type);

}  // namespace opyard
