#include "opyard/core/device.h"

#include <array>
#include <cctype>
#include <charconv>

#include "opyard/base/check.h"

namespace opyard {
namespace {

constexpr std::array<std::string_view, 5> kLayouts = {"strided", "sparse_coo", "sparse_csr",
                                                      "mkldnn", "jagged"};
constexpr std::array<std::string_view, 4> kFormats = {"contiguous_format", "preserve_format",
                                                      "channels_last", "channels_last_3d"};

std::string device_name(Backend backend) {
  std::string claimed = private_backend_name(backend);
  if (!claimed.empty()) return claimed;
  std::string name(to_string(backend));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

template <typename Enum, size_t N>
bool find_name(const std::array<std::string_view, N>& names, std::string_view text, Enum* value) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] != text) continue;
    *value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

}  // namespace

Device Device::parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  int16_t index = -1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    OPYARD_CHECK(status == std::errc() && end == digits.data() + digits.size() && index >= 0 &&
                     !digits.empty(),
                 kInvalidArgument, "'", text.substr(0, 64),
                 "' is no device: the number after ':' is not valid");
  }
  for (int i = 1; i <= kNumBackends; ++i) {
    const auto backend = static_cast<Backend>(i);
    if (device_name(backend) != name) continue;
    const bool single = backend == Backend::kCPU || backend == Backend::kMeta;
    OPYARD_CHECK(!single || index <= 0, kInvalidArgument, "there is one device '", name,
                 "', got the number ", index);
    return Device(backend, index);
  }
  raise(Code::kInvalidArgument,
        str_cat("'", text.substr(0, 64),
                "' is no device; devices look like cpu, cuda:0 or meta, and a private one is "
                "there while its plugin is loaded"));
}

std::string to_string(Device device) {
  std::string text = device_name(device.type);
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

std::string_view to_string(Layout layout) noexcept {
  const auto index = static_cast<size_t>(layout);
  return index < kLayouts.size() ? kLayouts[index] : "unknown";
}
std::string_view to_string(MemoryFormat format) noexcept {
  const auto index = static_cast<size_t>(format);
  return index < kFormats.size() ? kFormats[index] : "unknown";
}
bool try_parse(std::string_view text, Layout* layout) noexcept {
  return find_name(kLayouts, text, layout);
}
bool try_parse(std::string_view text, MemoryFormat* format) noexcept {
  return find_name(kFormats, text, format);
}

}  // namespace opyard
