#include "opyard/dispatch/attributes.h"

#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/dispatch/schema.h"

namespace opyard {
namespace {

constexpr size_t kLongestTag = 64;
constexpr size_t kMostTags = 32;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_tag(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= kLongestTag && std::all_of(text.begin(), text.end(), fits);
}

std::vector<std::string> read_tags(std::string_view text, const FunctionSchema& schema) {
  std::vector<std::string> tags;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view tag = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    OPYARD_CHECK(is_tag(tag), kInvalidArgument, "the definition of '", schema.full_name(),
                 "' has the tag '", tag.substr(0, kLongestTag), "'; a tag is a name of at most ",
                 kLongestTag, " small letters, digits and underscores");
    tags.emplace_back(tag);
    OPYARD_CHECK(tags.size() <= kMostTags, kInvalidArgument, "the definition of '",
                 schema.full_name(), "' has more than ", kMostTags, " tags");
  }
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return tags;
}

bool has_alias_annotations(const FunctionSchema& schema) {
  const auto annotated = [](const Argument& argument) { return argument.alias.has_value(); };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), annotated) ||
         std::any_of(schema.returns.begin(), schema.returns.end(), annotated);
}

}  // namespace

std::string_view to_string(AliasAnalysis kind) noexcept {
  switch (kind) {
    case AliasAnalysis::kConservative:
      return "CONSERVATIVE";
    case AliasAnalysis::kPureFunction:
      return "PURE_FUNCTION";
    default:
      return "FROM_SCHEMA";
  }
}

bool Attributes::has_tag(std::string_view tag) const noexcept {
  return std::binary_search(tags.begin(), tags.end(), tag);
}

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const std::string& tag : attributes.tags) text += (text.empty() ? "tags " : ", ") + tag;
  return str_cat(text.empty() ? "no tags" : text, "; alias analysis ",
                 to_string(attributes.alias_analysis));
}

Attributes read_attributes(const opyard_registration& definition, const FunctionSchema& schema) {
  const opyard_str& text = definition.tags;
  Attributes attributes;
  attributes.tags = read_tags(std::string_view(text.data, text.size), schema);
  OPYARD_CHECK(definition.alias_analysis <= OPYARD_ALIAS_PURE_FUNCTION, kInvalidArgument,
               "the definition of '", schema.full_name(), "' has the unknown alias analysis kind ",
               definition.alias_analysis);
  attributes.alias_analysis_chosen = definition.alias_analysis != OPYARD_ALIAS_DEFAULT;
  if (attributes.alias_analysis_chosen) {
    attributes.alias_analysis = static_cast<AliasAnalysis>(definition.alias_analysis);
  } else if (definition.flags & OPYARD_SCHEMA_INFERRED) {
    attributes.alias_analysis = AliasAnalysis::kConservative;  // C++ types tell nothing of aliases
  }
  OPYARD_CHECK(
      attributes.alias_analysis == AliasAnalysis::kFromSchema || !has_alias_annotations(schema),
      kInvalidArgument, "the alias analysis kind ", to_string(attributes.alias_analysis),
      " contradicts the alias annotations of '", to_string(schema),
      "'; take them out, or leave the kind at FROM_SCHEMA");
  return attributes;
}

}  // namespace opyard
