#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace opyard::daemon {

// Where a server listens. One of the two forms that scripts may rely on.
struct Address {
  enum class Kind { kUnix, kTcp };
  Kind kind = Kind::kUnix;
  std::string path;   // kUnix
  std::string host;   // kTcp, without brackets
  uint16_t port = 0;  // kTcp

  // "unix:/run/opyard/opyardd.sock" or "127.0.0.1:7070".
  std::string text() const;
  // True for 127.0.0.0/8, ::1 and localhost.
  bool is_loopback() const;
};

// The longest path that fits sockaddr_un with its terminating zero.
inline constexpr size_t kMaxSocketPath = 107;

// Reads `unix:PATH` or `HOST:PORT` ("[::1]:7070" for IPv6). INVALID_ARGUMENT otherwise.
Address parse_address(std::string_view text);

// The address used when none is given: $XDG_RUNTIME_DIR/opyard/opyardd.sock; for root
// /run/opyard/opyardd.sock; else a folder opyard-UID in the temporary directory.
Address default_address(uid_t uid, const char* xdg_runtime_dir, const char* tmp_dir);

}  // namespace opyard::daemon
