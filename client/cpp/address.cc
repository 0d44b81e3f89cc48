#include <unistd.h>

#include <cstdlib>

#include "client/cpp/client.h"

namespace opyard::client {

std::string default_address() {
  const auto environment = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string address = environment("OPYARD_ADDRESS"); !address.empty()) return address;
  if (getuid() == 0) return "unix:/run/opyard/opyardd.sock";
  if (const std::string run = environment("XDG_RUNTIME_DIR"); run.starts_with('/')) {
    return "unix:" + run + "/opyard/opyardd.sock";
  }
  std::string temporary = environment("TMPDIR");
  if (!temporary.starts_with('/')) temporary = "/tmp";
  return "unix:" + temporary + "/opyard-" + std::to_string(getuid()) + "/opyardd.sock";
}

}  // namespace opyard::client
