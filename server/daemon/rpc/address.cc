#include "rpc/address.h"

#include <charconv>

#include "opyard/base/check.h"

namespace opyard::daemon {
namespace {

Address parse_unix(std::string_view path) {
  OPYARD_CHECK(!path.empty(), kInvalidArgument,
               "the address 'unix:' has no path; write unix:/some/directory/opyardd.sock");
  OPYARD_CHECK(path.size() <= kMaxSocketPath, kInvalidArgument, "the socket path has ", path.size(),
               " bytes, but a Unix socket's path has at most ", kMaxSocketPath,
               "; choose a shorter directory: ", path);
  OPYARD_CHECK(path.find('\0') == std::string_view::npos, kInvalidArgument,
               "the socket path contains a zero byte");
  Address address;
  address.kind = Address::Kind::kUnix;
  address.path = std::string(path);
  return address;
}

}  // namespace

std::string Address::text() const {
  if (kind == Kind::kUnix) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool Address::is_loopback() const {
  if (kind == Kind::kUnix) return true;
  if (host == "localhost" || host == "::1") return true;
  // Only a full dotted quad counts: "127.example.org" is a name like any other.
  if (!host.starts_with("127.")) return false;
  int dots = 0;
  for (const char c : host) {
    if (c == '.') ++dots;
    if (c != '.' && (c < '0' || c > '9')) return false;
  }
  return dots == 3;
}

Address parse_address(std::string_view text) {
  if (text.starts_with("unix:")) return parse_unix(text.substr(5));
  const size_t colon = text.rfind(':');
  OPYARD_CHECK(colon != std::string_view::npos && colon > 0, kInvalidArgument,
               "cannot read the address '", text,
               "'; wanted unix:PATH (a Unix socket) or HOST:PORT");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else {
    OPYARD_CHECK(host.find_first_of(":/") == std::string_view::npos, kInvalidArgument,
                 "cannot read the host '", host, "' in the address '", text,
                 "'; wanted unix:PATH, HOST:PORT or [IPV6]:PORT");
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  OPYARD_CHECK(error == std::errc() && end == port.data() + port.size() && number <= 65535,
               kInvalidArgument, "the port '", port, "' in the address '", text,
               "' is not a number from 0 to 65535");
  Address address;
  address.kind = Address::Kind::kTcp;
  address.host = std::string(host);
  address.port = static_cast<uint16_t>(number);
  return address;
}

Address default_address(uid_t uid, const char* xdg_runtime_dir, const char* tmp_dir) {
  std::string directory;
  if (uid == 0) {
    directory = "/run/opyard";
  } else if (xdg_runtime_dir != nullptr && *xdg_runtime_dir == '/') {
    directory = std::string(xdg_runtime_dir) + "/opyard";
  } else {
    const std::string tmp = tmp_dir != nullptr && *tmp_dir == '/' ? tmp_dir : "/tmp";
    directory = tmp + "/opyard-" + std::to_string(uid);
  }
  return parse_unix(directory + "/opyardd.sock");
}

}  // namespace opyard::daemon
