#include "opyard/plugin/host_extensions.h"

#include <charconv>

namespace opyard::plugin {
namespace {

struct Offer {
  std::string_view id;
  uint32_t version;
  const void* table;
};
constexpr Offer kOffers[] = {
    {"opyard.tensors", 1, &kHostTensors},
    {"opyard.calls", 1, &kHostCalls},
    {"opyard.threads", 1, &kHostThreads},
};

}  // namespace

const void* find_host_extension(std::string_view id, uint32_t min_version) noexcept {
  for (const Offer& offer : kOffers) {
    if (offer.id == id) return min_version <= offer.version ? offer.table : nullptr;
  }
  return nullptr;
}

bool offers_host_extension(std::string_view need) noexcept {
  const size_t slash = need.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view digits = need.substr(slash + 1);
  const char* end = digits.data() + digits.size();
  uint32_t version = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, version);
  if (error != std::errc() || stop != end || version == 0) return false;
  return find_host_extension(need.substr(0, slash), version) != nullptr;
}

}  // namespace opyard::plugin
