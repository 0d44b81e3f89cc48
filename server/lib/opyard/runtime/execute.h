#pragma once

#include <string_view>
#include <vector>

#include "opyard/core/tensor.h"
#include "opyard/runtime/frame.h"

namespace opyard::runtime {

class Session;
class Stream;

// What Session::execute and Session::new_tensor do once the session's thread state is installed.
Outcome execute_frame(Session& session, Stream& stream, const Frame& frame);
Tensor new_upload(const std::vector<int64_t>& sizes, std::string_view dtype,
                  std::string_view device);

}  // namespace opyard::runtime
