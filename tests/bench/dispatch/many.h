#pragma once

#include <malloc.h>

#include <cstddef>
#include <string>
#include <vector>

// The same many operators for every subject.

namespace opyard::bench {

inline constexpr int kMany = 3000;

inline std::string many_schema(int i) {
  return "op" + std::to_string(i) + "(Tensor a, Tensor b) -> ()";
}
inline std::string many_name(int i) { return "op" + std::to_string(i); }

// Bytes that the process has allocated.
inline double allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

}  // namespace opyard::bench
