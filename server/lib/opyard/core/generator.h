#pragma once

#include <atomic>
#include <cstdint>

#include "opyard/base/intrusive_ptr.h"
#include "opyard/core/dispatch_key_set.h"

namespace opyard {

// A source of random numbers: the counter of a Philox-4x32-10 stream (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011). An operator reserves a run of 128-bit counters
// and computes its numbers from them, so results depend on seed and order of calls only, never on
// threads. One with keys (a backend's own source of randomness: CustomRNGKeyId) brings them to
// every call that it is an argument of. Any thread.
class Generator final : public RefCounted {
 public:
  explicit Generator(uint64_t seed = 0, KeySet keys = {}) noexcept : keys_(keys), seed_(seed) {}

  // Starts the stream of `seed` from its beginning.
  void manual_seed(uint64_t seed) noexcept;
  uint64_t seed() const noexcept { return seed_.load(); }
  uint64_t offset() const noexcept { return offset_.load(); }
  void set_offset(uint64_t offset) noexcept { offset_.store(offset); }
  // Takes `count` counters; returns the first.
  uint64_t reserve(uint64_t count) noexcept { return offset_.fetch_add(count); }
  KeySet key_set() const noexcept { return keys_; }

  static void destroy(Generator* generator) noexcept { delete generator; }

 private:
  ~Generator() = default;
  const KeySet keys_;
  std::atomic<uint64_t> seed_;
  std::atomic<uint64_t> offset_{0};
};

// The thread's generator where one is installed (sessions do), else the process's own.
Generator& current_generator() noexcept;

}  // namespace opyard
