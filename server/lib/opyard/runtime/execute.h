#pragma once

#include <string_view>
#include <vector>

#include "opyard/core/tensor.h"
#include "opyard/runtime/frame.h"

namespace opyard::runtime {

class Session;
class Stream;
class TensorStore;

// What Session::execute does once the session's thread state is installed.
Outcome execute_frame(Session& session, Stream& stream, const Frame& frame);

// Memory for a tensor of `bytes` bytes that a client sends. INVALID_ARGUMENT: unknown dtype, a
// negative size, too many dimensions, or sizes × element size is not `bytes`. UNIMPLEMENTED: a
// device other than cpu.
Tensor new_upload(const std::vector<int64_t>& sizes, std::string_view dtype,
                  std::string_view device, uint64_t bytes);

// To be called when the elements are there: makes every byte of a bool tensor 0 or 1, which kernels
// rely on.
void finish_upload(const Tensor& tensor);

// Poisons the id of an upload that failed.
void poison_put(TensorStore& store, Id id, const Error& error);

}  // namespace opyard::runtime
