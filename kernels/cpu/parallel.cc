#include "kernels/cpu/parallel.h"

#include <atomic>
#include <exception>

// libgomp by its own interface, not by pragmas: clang would bring a second OpenMP runtime, and with
// it a second pool beside the one that oneDNN and OpenBLAS use.
extern "C" {
void GOMP_parallel(void (*work)(void* data), void* data, unsigned threads, unsigned flags);
int omp_in_parallel(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace opyard::cpu {
namespace {

struct Region {
  int64_t parts;
  void (*part)(void* context, int64_t index);
  void* context;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure{};

  // Every thread of the region takes parts until none is left.
  static void work(void* data) {
    auto& region = *static_cast<Region*>(data);
    while (!region.failed.load(std::memory_order_relaxed)) {
      const int64_t index = region.next.fetch_add(1, std::memory_order_relaxed);
      if (index >= region.parts) return;
      try {
        region.part(region.context, index);
      } catch (...) {
        if (!region.failed.exchange(true)) region.failure = std::current_exception();
      }
    }
  }
};

}  // namespace

void run_parts(int64_t parts, void (*part)(void* context, int64_t index), void* context) {
  const int64_t most = omp_in_parallel() ? 1 : std::min<int64_t>(parts, shape::compute_threads());
  const shape::ComputeAdmission admission(static_cast<int>(most));
  Region region{parts, part, context};
  if (admission.threads() == 1) {
    Region::work(&region);
  } else {
    GOMP_parallel(&Region::work, &region, static_cast<unsigned>(admission.threads()), 0);
  }
  if (region.failure) std::rethrow_exception(region.failure);
}

LibraryThreads::LibraryThreads(int threads) noexcept : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
LibraryThreads::~LibraryThreads() { omp_set_num_threads(before_); }

}  // namespace opyard::cpu
