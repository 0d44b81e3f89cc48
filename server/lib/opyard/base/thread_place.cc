#include "opyard/base/thread_place.h"

#include <atomic>

namespace opyard {

size_t thread_place(size_t places) noexcept {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine % places;
}

}  // namespace opyard
