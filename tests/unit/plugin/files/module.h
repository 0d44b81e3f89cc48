#pragma once

#include <atomic>

// What a test and its module share.
struct Control {
  std::atomic<bool> inside{false};  // a thread of the module has begun
  std::atomic<bool> go{false};      // … and may end
};
