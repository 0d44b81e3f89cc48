#pragma once

#include <cstdint>
#include <string_view>

#include "opyard/dispatch/c_status.h"
#include "opyard_calls.h"
#include "opyard_tensors.h"
#include "opyard_threads.h"

namespace opyard::plugin {

// The table that the host offers under a name ("opyard.tensors"), of this version or a later one;
// null when there is none. Any thread.
const void* find_host_extension(std::string_view id, uint32_t min_version) noexcept;
// Whether it offers what a plugin's note needs: "opyard.tensors/1".
bool offers_host_extension(std::string_view need) noexcept;

extern const opyard_tensors kHostTensors;
extern const opyard_calls kHostCalls;
extern const opyard_threads kHostThreads;

// Runs `body` for a function of the C interface: what it raises becomes the status, and its code
// the result.
template <typename F>
int32_t guarded(opyard_status* status, F&& body) noexcept {
  try {
    body();
    return static_cast<int32_t>(Code::kOk);
  } catch (...) {
    const Error error = current_error();
    const auto code = static_cast<int32_t>(error.code());
    const std::string& message = error.message();
    if (status) {
      set_c_status(status, code, {message.data(), static_cast<uint32_t>(message.size()), 0});
    }
    return code;
  }
}

}  // namespace opyard::plugin
