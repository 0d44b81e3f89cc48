#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "opyard/base/error.h"

namespace opyard::plugin {

// The error that `body` raises; OK and no text when it raises none.
template <typename Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, "");
}

inline bool says(const Error& error, std::string_view text) {
  return error.message().find(text) != std::string::npos;
}

}  // namespace opyard::plugin
