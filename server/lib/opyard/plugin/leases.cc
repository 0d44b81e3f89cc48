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
// counted but never too few. That holds for several kinds only when all their releases are read
// before the first acquisition: a lease of one kind may be taken under one of another, which is
// then given back. The numbers wrap around, their difference does not.
uint64_t Leases::sum(size_t first, size_t end) const noexcept {
  uint32_t released = 0;
  uint32_t acquired = 0;
  for (const Place& place : places_) {
    for (size_t kind = first; kind < end; ++kind) {
      released += place.released[kind].load(std::memory_order_acquire);
    }
  }
  for (const Place& place : places_) {
    for (size_t kind = first; kind < end; ++kind) {
      acquired += place.acquired[kind].load(std::memory_order_relaxed);
    }
  }
  return acquired - released;
}

uint64_t Leases::count(LeaseKind kind) const noexcept {
  const auto index = static_cast<size_t>(kind);
  return sum(index, index + 1);
}

uint64_t Leases::total() const noexcept { return sum(0, kNumLeaseKinds); }

}  // namespace opyard::plugin
