#include "client/cli/literal.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace opyard::cli {
namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Literal whole() {
    Literal literal = value(0);
    skip();
    if (at_ != text_.size()) fail("the end of the value");
    return literal;
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) const {
    const std::string_view rest = text_.substr(at_, 20);
    throw UsageError("cannot read the value '" + std::string(text_.substr(0, 80)) +
                     "': at position " + std::to_string(at_) + " got " +
                     (rest.empty() ? "the end" : "'" + std::string(rest) + "'") + ", wanted " +
                     wanted);
  }
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Recursion is bounded by kMaxDepth.
  Literal value(int depth) {
    if (depth > kMaxDepth) fail("at most 64 levels of lists");
    skip();
    if (take('[')) return list(depth);
    if (at_ < text_.size() && text_[at_] == '"') return Literal{string()};
    return word();
  }

  Literal list(int depth) {
    Literal::List items;
    if (!take(']')) {
      do {
        items.push_back(value(depth + 1));
      } while (take(','));
      if (!take(']')) fail("',' or ']'");
    }
    return Literal{std::move(items)};
  }

  std::string string() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      char c = text_[at_];
      if (c == '\\' && ++at_ < text_.size()) {
        c = text_[at_];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'u') fail("the character itself instead of a \\u escape");
      }
      out += c;
    }
    if (at_ >= text_.size()) fail("a closing quote");
    ++at_;
    return out;
  }

  Literal word() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           std::string_view(",[]{}\" \t\r\n").find(text_[at_]) == text_.npos) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "null" || word == "None") return {};
    if (word == "true" || word == "True") return Literal{true};
    if (word == "false" || word == "False") return Literal{false};
    Literal number;
    if (!parse_number(word, &number)) {
      at_ = begin;
      fail("a number, true, false, null, a \"text\" or a [list]");
    }
    return number;
  }

  bool parse_number(std::string_view word, Literal* literal) const {
    const bool negative = word.starts_with('-');
    const std::string_view digits = word.substr(negative ? 1 : 0);
    const double sign = negative ? -1 : 1;
    if (digits == "inf" || digits == "Infinity") {
      literal->data = sign * std::numeric_limits<double>::infinity();
      return true;
    }
    if (digits == "nan" || digits == "NaN") {
      literal->data = std::numeric_limits<double>::quiet_NaN();
      return true;
    }
    if (digits.empty() ||
        !(std::isdigit(static_cast<unsigned char>(digits[0])) || digits[0] == '.')) {
      return false;
    }
    const char* end = word.data() + word.size();
    int64_t integer = 0;
    if (const auto [stop, error] = std::from_chars(word.data(), end, integer); stop == end) {
      if (error != std::errc()) fail("an integer of 64 bits");
      literal->data = integer;
      return true;
    }
    double real = 0;
    const auto [stop, error] = std::from_chars(word.data(), end, real);
    if (stop != end) return false;
    if (error != std::errc()) fail("a number in the range of float64");
    literal->data = real;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool parse_literal(std::string_view text, Literal* literal) {
  // What begins like a word is one, unless the whole of it means something.
  const size_t first = text.find_first_not_of(" \t\r\n");
  const char c = first == text.npos ? '\0' : text[first];
  const bool starts_literal = c != '\0' && std::string_view("[\"-.0123456789").find(c) != text.npos;
  try {
    *literal = Parser(text).whole();
    return true;
  } catch (const UsageError&) {
    if (starts_literal) throw;
    return false;
  }
}

}  // namespace opyard::cli
