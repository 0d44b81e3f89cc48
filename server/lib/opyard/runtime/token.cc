#include "opyard/runtime/token.h"

#include <sys/random.h>

#include "opyard/base/check.h"

namespace opyard::runtime {

Token Token::make() {
  Token token;
  // Requests of up to 256 bytes are never cut short once the generator is seeded.
  const ssize_t got = getrandom(token.bytes.data(), token.bytes.size(), 0);
  OPYARD_CHECK(got == static_cast<ssize_t>(token.bytes.size()), kUnavailable,
               "the system gave no random numbers for a session token");
  return token;
}

std::optional<Token> Token::from_bytes(std::string_view raw) {
  Token token;
  if (raw.size() != token.bytes.size()) return std::nullopt;
  std::memcpy(token.bytes.data(), raw.data(), raw.size());
  return token;
}

}  // namespace opyard::runtime
