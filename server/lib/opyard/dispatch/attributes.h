#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opyard_plugin.h"

namespace opyard {

struct FunctionSchema;

// What may be assumed about memory that arguments and results of an operator share.
enum class AliasAnalysis : uint8_t {
  kFromSchema = OPYARD_ALIAS_FROM_SCHEMA,     // what the annotations of the schema say
  kConservative = OPYARD_ALIAS_CONSERVATIVE,  // anything may be shared or written to
  kPureFunction = OPYARD_ALIAS_PURE_FUNCTION  // nothing is
};
// "FROM_SCHEMA", "CONSERVATIVE", "PURE_FUNCTION"
std::string_view to_string(AliasAnalysis kind) noexcept;

// What a definition says about its operator besides the schema. Immutable.
struct Attributes {
  std::vector<std::string> tags{};  // sorted, each once
  AliasAnalysis alias_analysis = AliasAnalysis::kFromSchema;
  bool alias_analysis_chosen = false;  // else it is the default: nobody wrote it

  bool has_tag(std::string_view tag) const noexcept;
  friend auto operator<=>(const Attributes&, const Attributes&) = default;
};
// "tags a, b; alias analysis FROM_SCHEMA", for messages.
std::string to_string(const Attributes& attributes);

// Reads a definition's record. Raises INVALID_ARGUMENT for tags that are no names of at most 64
// small letters, digits and underscores, for more than 32 of them, for an unknown kind, and for
// another kind than FROM_SCHEMA where the schema has alias annotations: those would say one thing
// and the kind another.
Attributes read_attributes(const opyard_registration& definition, const FunctionSchema& schema);

}  // namespace opyard
