#pragma once

#include <string>
#include <vector>

#include "client/cli/literal.h"
#include "client/cpp/transport.h"

namespace opyard::cli {

// The arguments of a call, ready to be sent with `schema`.
struct BoundCall {
  client::OpSchema schema;
  std::vector<client::Value> args;
  std::vector<client::NamedValue> kwargs;
};

// Reads words such as '[[1,2],[3,4]]', int32:[1,2], @file.npy, 2.5, float32, alpha=2 as the
// parameters of one of `overloads` want them. Of several overloads that fit it takes the one with
// the fewest conversions, the first among equals. Raises INVALID_ARGUMENT when none fits,
// UsageError for broken literals.
BoundCall bind_words(const std::vector<client::OpSchema>& overloads,
                     const std::vector<std::string>& words);

}  // namespace opyard::cli
