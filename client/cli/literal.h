#pragma once

#include <stdexcept>
#include <string_view>

#include "client/cpp/literal.h"

namespace opyard::cli {

// Wrong usage: the command line cannot be read. Ends in exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using client::Literal;

// Reads a value as it is typed: JSON, with nan, inf, -inf, None, True and False besides. False when
// it is no literal but may be a plain word (`float32`, `cpu`); raises UsageError for what starts as
// a literal and is broken: "[[1, 2", an integer beyond 64 bits, lists deeper than 64.
bool parse_literal(std::string_view text, Literal* literal);

}  // namespace opyard::cli
