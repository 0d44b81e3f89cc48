#include "kernels/shape/compute_gate.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace opyard::shape {
namespace {

std::atomic<int> limit{0};  // 0: not asked yet
std::atomic<int> taken{0};

}  // namespace

int compute_threads() noexcept {
  int threads = limit.load(std::memory_order_relaxed);
  if (threads > 0) return threads;
  int unset = 0;
  threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return limit.compare_exchange_strong(unset, threads) ? threads : unset;
}

void set_compute_threads(int threads) noexcept { limit.store(std::max(1, threads)); }

ComputeAdmission::ComputeAdmission(int wanted) noexcept {
  const int free = compute_threads() - taken.load(std::memory_order_relaxed);
  const int hoped = std::max(1, std::min(wanted, free));
  // Another region may have been faster; what is too much is given back.
  const int before = taken.fetch_add(hoped, std::memory_order_acq_rel);
  const int excess = std::clamp(before + hoped - compute_threads(), 0, hoped - 1);
  if (excess > 0) taken.fetch_sub(excess, std::memory_order_acq_rel);
  threads_ = hoped - excess;
}

ComputeAdmission::~ComputeAdmission() { taken.fetch_sub(threads_, std::memory_order_acq_rel); }

}  // namespace opyard::shape
