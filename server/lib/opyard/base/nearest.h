#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace opyard {

// The candidates that look most like `wanted`, best first, at most `count`; none that differs in
// more than about half of its letters. Case counts half; what stands before "::" is compared apart.
// For messages: "did you mean …".
std::vector<std::string> nearest_names(std::string_view wanted,
                                       const std::vector<std::string>& candidates,
                                       size_t count = 3);

}  // namespace opyard
