#include "opyard/plugin/backend_claims.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/base/no_destructor.h"

namespace opyard::plugin {
namespace {

constexpr std::array<Backend, 3> kPrivate = {Backend::kPrivateUse1, Backend::kPrivateUse2,
                                             Backend::kPrivateUse3};

struct Claims {
  std::mutex mutex;
  std::array<uint64_t, kPrivate.size()> count{};
};

Claims& claims() {
  static NoDestructor<Claims> all;
  return *all;
}

size_t place_of(Backend backend) {
  return static_cast<size_t>(backend) - static_cast<size_t>(kPrivate.front());
}

}  // namespace

bool is_private_backend(Backend backend) noexcept {
  return std::find(kPrivate.begin(), kPrivate.end(), backend) != kPrivate.end();
}

std::optional<std::string> claimed_device(std::string_view claims) {
  constexpr std::string_view kPrefix = "device:";
  std::optional<std::string> device;
  while (!claims.empty()) {
    const size_t comma = std::min(claims.find(','), claims.size());
    std::string_view claim = claims.substr(0, comma);
    claims.remove_prefix(std::min(comma + 1, claims.size()));
    while (claim.starts_with(' ')) claim.remove_prefix(1);
    while (claim.ends_with(' ')) claim.remove_suffix(1);
    if (!claim.starts_with(kPrefix)) continue;
    OPYARD_CHECK(!device, kInvalidArgument, "the plugin claims the devices '", *device, "' and '",
                 claim.substr(kPrefix.size()), "'; a plugin may have one");
    device = claim.substr(kPrefix.size());
  }
  return device;
}

BackendClaim::BackendClaim(std::string_view name) {
  OPYARD_CHECK(!name.empty(), kInvalidArgument,
               "the plugin claims a device without a name; wanted is device:NAME");
  Claims& all = claims();
  const std::lock_guard lock(all.mutex);
  std::string holders;
  Backend free = Backend::kNone;
  for (const Backend backend : kPrivate) {
    const std::string holder = private_backend_name(backend);
    if (holder == name) free = backend;
    if (holder == name) break;
    if (holder.empty() && free == Backend::kNone) free = backend;
    holders += (holders.empty() ? "'" : ", '") + holder + "'";
  }
  OPYARD_CHECK(free != Backend::kNone, kResourceExhausted, "there is no private backend left for '",
               name, "': the three are held by ", holders, "; unload the plugins of one of them");
  set_private_backend_name(free, name);
  backend_ = free;
  ++all.count[place_of(free)];
}

BackendClaim::BackendClaim(BackendClaim&& other) noexcept
    : backend_(std::exchange(other.backend_, Backend::kNone)) {}

BackendClaim& BackendClaim::operator=(BackendClaim&& other) noexcept {
  if (this == &other) return *this;
  reset();
  backend_ = std::exchange(other.backend_, Backend::kNone);
  return *this;
}

void BackendClaim::reset() noexcept {
  if (!*this) return;
  Claims& all = claims();
  const std::lock_guard lock(all.mutex);
  if (--all.count[place_of(backend_)] == 0) set_private_backend_name(backend_, {});
  backend_ = Backend::kNone;
}

}  // namespace opyard::plugin
