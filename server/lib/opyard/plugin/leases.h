#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace opyard::plugin {

// What may keep a generation mapped after its last call.
enum class LeaseKind : uint8_t { kStorage, kStream, kEvent, kCallback, kOther };
inline constexpr size_t kNumLeaseKinds = 5;
std::string_view to_string(LeaseKind kind) noexcept;

// Counts the leases on one generation. Acquired while pinned (so that the generation cannot go in
// between) or by somebody who holds one already; released anywhere, once for each. Threads count in
// places of their own, so that nobody shares a line. Any thread.
class Leases {
 public:
  void acquire(LeaseKind kind) noexcept;
  void release(LeaseKind kind) noexcept;
  // The same for those that the plugin takes and gives back itself; they cannot take the place of
  // the host's. False when it has none of that kind to give back: nothing happens then.
  void acquire_own(LeaseKind kind) noexcept;
  bool release_own(LeaseKind kind) noexcept;
  // Of one kind, or of all together. Never less than there are. Once calls cannot reach the
  // generation any more, 0 stays 0; for total(), whatever kind a lease was taken under.
  uint64_t count(LeaseKind kind) const noexcept;
  uint64_t total() const noexcept;

 private:
  void add_acquired(size_t index) noexcept;
  void add_released(size_t index) noexcept;
  uint64_t sum(size_t first, size_t step) const noexcept;

  static constexpr size_t kPlaces = 32;
  struct alignas(64) Place {
    // The host's, then the plugin's own.
    std::array<std::atomic<uint32_t>, 2 * kNumLeaseKinds> acquired{};
    std::array<std::atomic<uint32_t>, 2 * kNumLeaseKinds> released{};
  };
  std::array<Place, kPlaces> places_;
};

}  // namespace opyard::plugin
