#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace opyard::runtime {

// 128 random bits: whoever can say them owns the session. Never logged.
struct Token {
  std::array<uint8_t, 16> bytes{};

  // From the kernel's generator. UNAVAILABLE when that fails.
  static Token make();
  // 16 raw bytes, as on the wire.
  static std::optional<Token> from_bytes(std::string_view raw);
  std::string to_bytes() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  bool operator==(const Token&) const = default;
};

struct TokenHash {
  size_t operator()(const Token& token) const noexcept {
    size_t hash = 0;  // the bytes are random already
    std::memcpy(&hash, token.bytes.data(), sizeof(hash));
    return hash;
  }
};

}  // namespace opyard::runtime
