#pragma once

#include <string>
#include <string_view>

#include "opyard/core/ivalue.h"
#include "opyard/dispatch/schema.h"

namespace opyard::detail {

// A place in the text of a schema. Everything that reads moves it on; everything that fails raises
// INVALID_ARGUMENT with the position, what stands there and what was wanted. Borrows the text.
class SchemaCursor {
 public:
  explicit SchemaCursor(std::string_view text) noexcept : text_(text) {}

  size_t position() const noexcept { return position_; }
  std::string_view text_from(size_t begin) const noexcept {
    return text_.substr(begin, position_ - begin);
  }
  void skip_space() noexcept;
  bool at_end() noexcept;
  // The next character after blanks; 0 at the end.
  char peek() noexcept;
  // The character right here, blanks included.
  char here() const noexcept { return position_ < text_.size() ? text_[position_] : '\0'; }
  void step() noexcept { ++position_; }
  // Takes `token` when it stands next.
  bool take(std::string_view token) noexcept;
  void expect(std::string_view token);
  // Letters, digits and "_", not starting with a digit.
  std::string_view identifier(std::string_view wanted);
  // Everything up to a blank or a character of ",)]=(".
  std::string_view word() noexcept;
  [[noreturn]] void fail(std::string_view wanted);
  // For what is well written and not allowed; the position is that of `begin`.
  [[noreturn]] void refuse(size_t begin, std::string_view why) const;

 private:
  std::string_view text_;
  size_t position_ = 0;
};

// Reads the default value of a parameter of this type, behind the "=".
IValue parse_default(SchemaCursor& cursor, const SchemaType& type);

}  // namespace opyard::detail
