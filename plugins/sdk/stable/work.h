#pragma once

#include <utility>

#include "plugins/sdk/stable/base.h"

OPYARD_STABLE_BEGIN

// Keeps the plugin loaded while it lives. To be made within a kernel, in start, or under another.
class Lease {
 public:
  explicit Lease(opyard_lease_kind kind = OPYARD_LEASE_OTHER) : kind_(kind), held_(true) {
    the_host.host->lease_acquire(the_host.host, kind_);
  }
  Lease(Lease&& other) noexcept : kind_(other.kind_), held_(std::exchange(other.held_, false)) {}
  Lease& operator=(Lease&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~Lease() {
    if (held_) the_host.host->lease_release(the_host.host, kind_);
  }

 private:
  uint32_t kind_;
  bool held_;
};

// Runs function(argument) on a thread of the host, which keeps the plugin until it has returned.
// The argument stays the caller's when this raises: UNIMPLEMENTED in a host without the extension,
// FAILED_PRECONDITION once the plugin is to stop, RESOURCE_EXHAUSTED when too much runs already.
inline void submit(void (*function)(void* argument), void* argument) {
  require(the_host.threads != nullptr, Code::kUnimplemented,
          "this host offers no extension opyard.threads");
  ask(the_host.threads->submit, the_host.host, function, argument);
}

// Work that goes on for long comes to its end when this becomes true.
inline bool stop_requested() {
  return the_host.threads && the_host.threads->stop_requested(the_host.host) != 0;
}

OPYARD_STABLE_END
