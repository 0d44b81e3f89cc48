#include "opyard/runtime/call_counts.h"

#include "opyard/base/thread_place.h"

namespace opyard::runtime {

void CallCounts::accept(uint64_t calls) noexcept {
  places_[thread_place(kPlaces)].accepted.fetch_add(calls, std::memory_order_relaxed);
}

void CallCounts::end(End how, uint64_t calls) noexcept {
  places_[thread_place(kPlaces)].ended[static_cast<size_t>(how)].fetch_add(
      calls, std::memory_order_release);
}

CallTotals CallCounts::totals() const noexcept {
  std::array<uint64_t, 3> ended{};
  for (const Place& place : places_) {
    for (size_t i = 0; i < ended.size(); ++i) {
      ended[i] += place.ended[i].load(std::memory_order_acquire);
    }
  }
  CallTotals totals;
  for (const Place& place : places_) {
    totals.accepted += place.accepted.load(std::memory_order_relaxed);
  }
  totals.completed = ended[static_cast<size_t>(End::kCompleted)];
  totals.failed = ended[static_cast<size_t>(End::kFailed)];
  totals.cancelled = ended[static_cast<size_t>(End::kCancelled)];
  return totals;
}

AcceptedCalls::AcceptedCalls(CallCounts& counts, uint64_t calls) noexcept
    : counts_(counts), open_(calls) {
  if (calls > 0) counts_.accept(calls);
}

AcceptedCalls::~AcceptedCalls() {
  if (open_ > 0) counts_.end(CallCounts::End::kCancelled, open_);
}

void AcceptedCalls::end(CallCounts::End how) noexcept {
  counts_.end(how);
  --open_;
}

}  // namespace opyard::runtime
