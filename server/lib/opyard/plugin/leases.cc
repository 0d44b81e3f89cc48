#include "opyard/plugin/leases.h"

#include "opyard/base/thread_place.h"

namespace opyard::plugin {

std::string_view to_string(LeaseKind kind) noexcept {
  static constexpr std::array<std::string_view, kNumLeaseKinds> kNames = {
      "storage", "stream", "event", "callback", "other"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "other";
}

void Leases::add_acquired(size_t index) noexcept {
  places_[thread_place(kPlaces)].acquired[index].fetch_add(1, std::memory_order_relaxed);
}
void Leases::add_released(size_t index) noexcept {
  places_[thread_place(kPlaces)].released[index].fetch_add(1, std::memory_order_release);
}

void Leases::acquire(LeaseKind kind) noexcept { add_acquired(static_cast<size_t>(kind)); }
void Leases::release(LeaseKind kind) noexcept { add_released(static_cast<size_t>(kind)); }

void Leases::acquire_own(LeaseKind kind) noexcept {
  add_acquired(kNumLeaseKinds + static_cast<size_t>(kind));
}

// Two threads that give the last one back at the same time may both be believed; the number is then
// one that no plugin reaches, and it stays.
bool Leases::release_own(LeaseKind kind) noexcept {
  const size_t index = kNumLeaseKinds + static_cast<size_t>(kind);
  if (sum(index, 2 * kNumLeaseKinds) == 0) return false;
  add_released(index);
  return true;
}

// Releases are read first: each one seen has its acquisition before it, so that too many may be
// counted but never too few. That holds for several kinds only when all their releases are read
// before the first acquisition: a lease of one kind may be taken under one of another, which is
// then given back. The numbers wrap around, their difference does not.
uint64_t Leases::sum(size_t first, size_t step) const noexcept {
  uint32_t released = 0;
  uint32_t acquired = 0;
  for (const Place& place : places_) {
    for (size_t index = first; index < place.released.size(); index += step) {
      released += place.released[index].load(std::memory_order_acquire);
    }
  }
  for (const Place& place : places_) {
    for (size_t index = first; index < place.acquired.size(); index += step) {
      acquired += place.acquired[index].load(std::memory_order_relaxed);
    }
  }
  return acquired - released;
}

uint64_t Leases::count(LeaseKind kind) const noexcept {
  return sum(static_cast<size_t>(kind), kNumLeaseKinds);  // the host's and the plugin's
}

uint64_t Leases::total() const noexcept { return sum(0, 1); }

}  // namespace opyard::plugin
