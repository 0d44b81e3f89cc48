#include "opyard/plugin/leases.h"

#include "opyard/base/thread_place.h"

namespace opyard::plugin {
std::string_view to_string(LeaseKind kind) noexcept {
  static constexpr std::array<std::string_view, kNumLeaseKinds> kNames = {
      "storage", "stream", "event", "callback", "other"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "other";
}

void Leases::acquire(LeaseKind kind) noexcept {
  places_[thread_place(kPlaces)].acquired[static_cast<size_t>(kind)].fetch_add(
      1, std::memory_order_relaxed);
}

void Leases::release(LeaseKind kind) noexcept {
  places_[thread_place(kPlaces)].released[static_cast<size_t>(kind)].fetch_add(
      1, std::memory_order_release);
}

// Releases are read first: each one seen has its acquisition before it, so that too many may be
// counted but never too few. The numbers wrap around, their difference does not.
uint64_t Leases::count(LeaseKind kind) const noexcept {
  const auto index = static_cast<size_t>(kind);
  uint32_t released = 0;
  uint32_t acquired = 0;
  for (const Place& place : places_) {
    released += place.released[index].load(std::memory_order_acquire);
  }
  for (const Place& place : places_) {
    acquired += place.acquired[index].load(std::memory_order_relaxed);
  }
  return acquired - released;
}

uint64_t Leases::total() const noexcept {
  uint64_t sum = 0;
  for (size_t i = 0; i < kNumLeaseKinds; ++i) sum += count(static_cast<LeaseKind>(i));
  return sum;
}

}  // namespace opyard::plugin
