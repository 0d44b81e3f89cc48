#pragma once

#include <cstdint>

namespace opyard::client {

// How many cases of a file held.
struct CheckResult {
  uint64_t passed = 0;
  uint64_t failed = 0;
  CheckResult& operator+=(const CheckResult& other) {
    passed += other.passed;
    failed += other.failed;
    return *this;
  }
};

}  // namespace opyard::client
