#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "opyard/core/dispatch_key.h"

namespace opyard::plugin {

// The device that a plugin claims in its note: "toy" of "CPU,device:toy". INVALID_ARGUMENT when
// there are several.
std::optional<std::string> claimed_device(std::string_view claims);

// One of those that names are given to.
bool is_private_backend(Backend backend) noexcept;

// Holds one of the private backends PrivateUse1..3 under a name. All claims of a name hold the same
// one; with the last claim the name goes. Any thread.
class BackendClaim {
 public:
  BackendClaim() noexcept = default;
  // RESOURCE_EXHAUSTED, naming the three holders, when none is left; as set_private_backend_name
  // for a name that cannot be.
  explicit BackendClaim(std::string_view name);
  ~BackendClaim() { reset(); }
  BackendClaim(BackendClaim&& other) noexcept;
  BackendClaim& operator=(BackendClaim&& other) noexcept;
  void reset() noexcept;

  explicit operator bool() const noexcept { return backend_ != Backend::kNone; }
  // kNone when nothing is held.
  Backend backend() const noexcept { return backend_; }

 private:
  Backend backend_ = Backend::kNone;
};

}  // namespace opyard::plugin
