#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "opyard/core/dispatch_key.h"

namespace opyard {

// Where a tensor lives: a kind of device and its number. -1 means "the current one of its kind".
struct Device {
  Backend type = Backend::kCPU;
  int16_t index = -1;

  constexpr Device() noexcept = default;
  constexpr Device(Backend backend, int16_t number = -1) noexcept : type(backend), index(number) {}
  // "cpu", "cuda:1", "meta", or a private backend's claimed name. Raises INVALID_ARGUMENT.
  static Device parse(std::string_view text);

  constexpr bool is_cpu() const noexcept { return type == Backend::kCPU; }
  constexpr bool is_meta() const noexcept { return type == Backend::kMeta; }
  friend constexpr bool operator==(const Device&, const Device&) noexcept = default;
};

// The same device, where an index of -1 equals 0.
constexpr bool same_device(Device a, Device b) noexcept {
  return a.type == b.type && (a.index < 0 ? 0 : a.index) == (b.index < 0 ? 0 : b.index);
}

std::string to_string(Device device);

enum class Layout : uint8_t { kStrided, kSparse, kSparseCsr, kMkldnn, kJagged };
enum class MemoryFormat : uint8_t { kContiguous, kPreserve, kChannelsLast, kChannelsLast3d };

std::string_view to_string(Layout layout) noexcept;
std::string_view to_string(MemoryFormat format) noexcept;
bool try_parse(std::string_view text, Layout* layout) noexcept;
bool try_parse(std::string_view text, MemoryFormat* format) noexcept;

}  // namespace opyard
