#include "opyard/dispatch/schema_cursor.h"

#include "opyard/base/check.h"

namespace opyard::detail {
namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

void SchemaCursor::skip_space() noexcept {
  while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
}

bool SchemaCursor::at_end() noexcept {
  skip_space();
  return position_ == text_.size();
}

char SchemaCursor::peek() noexcept {
  skip_space();
  return here();
}

bool SchemaCursor::take(std::string_view token) noexcept {
  skip_space();
  if (text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  return true;
}

void SchemaCursor::expect(std::string_view token) {
  if (!take(token)) fail(str_cat("'", token, "'"));
}

std::string_view SchemaCursor::identifier(std::string_view wanted) {
  skip_space();
  if (!is_letter(here())) fail(wanted);
  const size_t begin = position_;
  while (is_letter(here()) || is_digit(here())) ++position_;
  return text_from(begin);
}

std::string_view SchemaCursor::word() noexcept {
  skip_space();
  const size_t begin = position_;
  while (position_ < text_.size() && !is_blank(here()) &&
         std::string_view(",)]=(").find(here()) == std::string_view::npos) {
    ++position_;
  }
  return text_from(begin);
}

void SchemaCursor::fail(std::string_view wanted) {
  skip_space();
  const std::string_view rest = text_.substr(position_, 20);
  raise(Code::kInvalidArgument,
        str_cat("schema, position ", position_, ": got ",
                rest.empty() ? "the end of the text" : str_cat("'", rest, "'"), ", wanted ", wanted,
                " (in \"", text_.substr(0, 120), text_.size() > 120 ? "…" : "", "\")"));
}

void SchemaCursor::refuse(size_t begin, std::string_view why) const {
  raise(Code::kInvalidArgument,
        str_cat("schema, position ", begin, ": ", why, " (in \"", text_.substr(0, 120),
                text_.size() > 120 ? "…" : "", "\")"));
}

}  // namespace opyard::detail
