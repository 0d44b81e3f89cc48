#pragma once

#include <string>
#include <string_view>

#include "opyard/base/error.h"
#include "opyard_plugin.h"

// Room for what a function of the C interface reports.
struct opyard_status {
  opyard::Code code = opyard::Code::kOk;
  std::string message;
};

namespace opyard {

// The host's set_status: never throws.
void set_c_status(opyard_status* status, int32_t code, opyard_str message) noexcept;

// The Error for a function that returned `code` (not 0): "context: reason". A number that is no
// canonical code becomes INTERNAL.
Error c_status_error(const opyard_status& status, int32_t code, std::string_view context);

}  // namespace opyard
