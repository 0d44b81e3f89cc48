#pragma once

#include <cstddef>

namespace opyard {

// Which of `places` counters this thread counts in: threads take them in turn, so that few share a
// line. `places` is not 0. Any thread.
size_t thread_place(size_t places) noexcept;

}  // namespace opyard
