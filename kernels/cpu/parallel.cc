#include "kernels/cpu/parallel.h"

#include <omp.h>

#include <atomic>
#include <exception>

namespace opyard::cpu {

void run_parts(int64_t parts, void (*part)(void* context, int64_t index), void* context) {
  const shape::ComputeAdmission admission(
      omp_in_parallel() ? 1 : static_cast<int>(std::min<int64_t>(parts, shape::compute_threads())));
  if (admission.threads() == 1) {
    for (int64_t i = 0; i < parts; ++i) part(context, i);
    return;
  }
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
#pragma omp parallel for num_threads(admission.threads()) schedule(dynamic, 1)
  for (int64_t i = 0; i < parts; ++i) {
    if (failed.load(std::memory_order_relaxed)) continue;
    try {
      part(context, i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

LibraryThreads::LibraryThreads(int threads) noexcept : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
LibraryThreads::~LibraryThreads() { omp_set_num_threads(before_); }

}  // namespace opyard::cpu
