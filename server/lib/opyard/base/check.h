#pragma once

#include <sstream>
#include <string>

#include "opyard/base/error.h"

namespace opyard {

// Joins its arguments with operator<<.
template <typename... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace opyard

// Raises opyard::Error with `code` and the joined message parts when `condition` is false. Stays
// on in every build: it is the way to refuse input.
#define OPYARD_CHECK(condition, code, ...)                                   \
  do {                                                                       \
    if (!(condition)) [[unlikely]] {                                         \
      ::opyard::raise(::opyard::Code::code, ::opyard::str_cat(__VA_ARGS__)); \
    }                                                                        \
  } while (false)
