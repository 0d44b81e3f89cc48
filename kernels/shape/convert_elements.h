#pragma once

#include <cstdint>

#include "opyard/core/scalar_type.h"

namespace opyard::shape {

// Copies n elements; strides are in bytes and may be 0 (source) or anything that keeps elements
// apart (destination). The two runs are the same elements or do not overlap.
using ConvertFn = void (*)(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                           int64_t n);

// The copy from one dtype to another by the rules of functors::convert. Raises UNIMPLEMENTED for a
// dtype that has no kernels.
ConvertFn convert_function(ScalarType to, ScalarType from);

}  // namespace opyard::shape
