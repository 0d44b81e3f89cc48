#pragma once

#include <cstdint>

#include "opyard/core/tensor.h"

namespace opyard::runtime {

// Bytes of a row-major copy of the tensor; 0 for one without elements.
uint64_t contiguous_bytes(const Tensor& tensor);

// The tensor itself where its memory is the host's, or where it has none; else a copy on cpu. Raises
// what aten::_to_copy does.
Tensor on_host(const Tensor& tensor);

// Copies `length` bytes of the row-major form, from byte `offset` on, to `out`. The tensor may have
// any strides. OUT_OF_RANGE when the range leaves the tensor; FAILED_PRECONDITION when its memory
// is not the host's: see on_host().
void read_row_major(const Tensor& tensor, uint64_t offset, uint64_t length, void* out);

}  // namespace opyard::runtime
