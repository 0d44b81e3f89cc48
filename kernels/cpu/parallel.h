#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/shape/compute_gate.h"

namespace opyard::cpu {

// Runs part(context, i) for i in 0 … parts-1 on the threads that the gate admits, the caller's
// among them; parts are handed out in order. An exception of a part is rethrown when all have
// ended.
void run_parts(int64_t parts, void (*part)(void* context, int64_t index), void* context);

// Limits libraries that fork on their own (oneDNN, OpenBLAS) to `threads` for calls from this
// thread, until the end of the scope.
class LibraryThreads {
 public:
  explicit LibraryThreads(int threads) noexcept;
  ~LibraryThreads();
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;

 private:
  int before_;
};

// Runs body(begin, end) on pieces of 0 … n-1. Pieces have at least `grain` elements, so that small
// work stays on the calling thread; their limits do not depend on how many threads there are.
template <typename F>
void parallel_for(int64_t n, int64_t grain, const F& body) {
  if (n <= 0) return;
  const int64_t most = int64_t{4} * shape::compute_threads();
  const int64_t parts = n < 2 * grain ? 1 : std::min(n / grain, most);
  if (parts <= 1 || shape::compute_threads() == 1) {
    body(int64_t{0}, n);
    return;
  }
  struct Context {
    const F* body;
    int64_t n, parts;
  } context{&body, n, parts};
  run_parts(
      parts,
      [](void* raw, int64_t index) {
        const auto& c = *static_cast<Context*>(raw);
        const int64_t size = c.n / c.parts;
        const int64_t extra = c.n % c.parts;
        const int64_t begin = index * size + std::min(index, extra);
        (*c.body)(begin, begin + size + (index < extra ? 1 : 0));
      },
      &context);
}

}  // namespace opyard::cpu
