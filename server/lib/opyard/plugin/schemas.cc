#include "opyard/plugin/schemas.h"

#include "opyard/base/check.h"
#include "opyard/plugin/records.h"

namespace opyard::plugin {
namespace {

constexpr uint64_t kMostSchemas = 1 << 16;
constexpr uint32_t kLongestName = 256;
constexpr uint32_t kLongestText = 1 << 16;

std::string_view view_of(opyard_str text) { return {text.data, text.size}; }

}  // namespace

Schemas::Schemas(const void* extension) {
  const auto given = take<opyard_schemas_ext>(extension, OPYARD_SCHEMAS_EXT_SIZE_1_0,
                                              "the extension opyard.schemas");
  for (const opyard_schema& schema : take_array(given.schemas, given.count, kMostSchemas,
                                                OPYARD_SCHEMA_SIZE_1_0, "the schemas")) {
    add(schema);
  }
  // Only now do the arrays stay where they are.
  for (size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].registrations = definitions_[i].data();
    blocks_[i].count = definitions_[i].size();
  }
}

opyard_str Schemas::keep(opyard_str text, uint32_t most, const char* what) {
  const std::string& kept = texts_.emplace_back(take_text(text, most, what));
  return {kept.data(), static_cast<uint32_t>(kept.size()), 0};
}

void Schemas::add(const opyard_schema& schema) {
  const opyard_str name_space = keep(schema.name_space, kLongestName, "a schema's namespace");
  OPYARD_CHECK(name_space.size > 0, kInvalidArgument, "a schema has no namespace");
  opyard_registration definition{};
  definition.struct_size = sizeof(definition);
  definition.kind = OPYARD_REGISTER_DEF;
  definition.text = keep(schema.schema, kLongestText, "a schema");
  OPYARD_CHECK(definition.text.size > 0, kInvalidArgument, "a definition of the namespace '",
               view_of(name_space), "' has no schema");
  definition.tags = keep(schema.tags, kLongestText, "a schema's tags");
  definition.alias_analysis = schema.alias_analysis;
  definition.file = keep(schema.file, kLongestText, "a schema's file");
  definition.line = schema.line;
  if (blocks_.empty() || view_of(blocks_.back().name_space) != view_of(name_space)) {
    opyard_block block{};
    block.struct_size = sizeof(block);
    block.kind = OPYARD_BLOCK_FRAGMENT;
    block.name_space = name_space;
    block.file = definition.file;
    block.line = definition.line;
    blocks_.push_back(block);
    definitions_.emplace_back();
  }
  definitions_.back().push_back(definition);
  note(schema);
}

void Schemas::note(const opyard_schema& schema) {
  Notes notes;
  notes.preconditions = take_text(schema.preconditions, kLongestText, "a schema's preconditions");
  notes.doc = take_text(schema.doc, kLongestText, "a schema's text for people");
  if (notes.preconditions.empty() && notes.doc.empty()) return;
  const std::string_view text = view_of(definitions_.back().back().text);
  notes.op = std::string(view_of(blocks_.back().name_space)) + "::";
  notes.op += text.substr(0, text.find('('));
  notes_.push_back(std::move(notes));
}

}  // namespace opyard::plugin
