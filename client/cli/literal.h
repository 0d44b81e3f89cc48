#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace opyard::cli {

// Wrong usage: the command line cannot be read. Ends in exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A value as it was typed: JSON, with nan, inf, -inf, None, True and False besides.
struct Literal {
  using List = std::vector<Literal>;
  std::variant<std::monostate, bool, int64_t, double, std::string, List> data;

  template <typename T>
  const T* get_if() const noexcept {
    return std::get_if<T>(&data);
  }
  bool is_null() const noexcept { return std::holds_alternative<std::monostate>(data); }
};

// Reads a whole text. False when it is no literal but may be a plain word (`float32`, `cpu`);
// raises UsageError for what starts as a literal and is broken: "[[1, 2", an integer beyond 64
// bits, lists deeper than 64.
bool parse_literal(std::string_view text, Literal* literal);

}  // namespace opyard::cli
