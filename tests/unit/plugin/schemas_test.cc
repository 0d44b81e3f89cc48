#include "opyard/plugin/schemas.h"

#include "opyard/dispatch/dispatcher.h"
#include "tests/unit/dispatch/support.h"

namespace opyard::plugin {
namespace {

using opyard::testing::contains;
using opyard::testing::error_of;

opyard_str text(std::string_view s) { return {s.data(), static_cast<uint32_t>(s.size()), 0}; }

opyard_schema schema(std::string_view name_space, std::string_view words) {
  opyard_schema made{};
  made.struct_size = sizeof(made);
  made.name_space = text(name_space);
  made.schema = text(words);
  return made;
}

opyard_schemas_ext extension(const std::vector<opyard_schema>& schemas) {
  return {sizeof(opyard_schemas_ext), 0, schemas.data(), schemas.size()};
}

std::string refused(const std::vector<opyard_schema>& schemas) {
  const opyard_schemas_ext given = extension(schemas);
  return error_of([&] { Schemas{&given}; }, Code::kInvalidArgument);
}

TEST(Schemas, BecomeDefinitionsThatOutliveThePlugin) {
  Dispatcher dispatcher;
  std::string words = "f(Tensor x) -> Tensor";
  std::vector<opyard_schema> given = {schema("mine", words), schema("mine", "g(int n) -> int"),
                                      schema("yours", "f() -> ()")};
  given[0].tags = text("pointwise,core");
  given[0].doc = text("Does it.");
  given[1].preconditions = text("n is even");
  given[1].alias_analysis = OPYARD_ALIAS_PURE_FUNCTION;
  const opyard_schemas_ext offered = extension(given);
  Schemas schemas(&offered);
  words.assign(words.size(), '?');  // the plugin is gone
  const Schemas moved = std::move(schemas);
  ASSERT_EQ(moved.blocks().size(), 2u);
  const Registration registration =
      dispatcher.register_blocks(moved.blocks(), Origin{"outsider", 3});
  EXPECT_EQ(to_string(dispatcher.get("mine::f").schema()), "mine::f(Tensor x) -> Tensor");
  EXPECT_TRUE(dispatcher.get("mine::f").attributes().has_tag("pointwise"));
  EXPECT_EQ(dispatcher.get("mine::g").attributes().alias_analysis, AliasAnalysis::kPureFunction);
  EXPECT_TRUE(dispatcher.find("yours::f"));
  ASSERT_EQ(moved.notes().size(), 2u);
  EXPECT_EQ(moved.notes()[0].op, "mine::f");
  EXPECT_EQ(moved.notes()[0].doc, "Does it.");
  EXPECT_EQ(moved.notes()[1].preconditions, "n is even");
}

TEST(Schemas, AnErrorNamesWhereTheDefinitionStands) {
  Dispatcher dispatcher;
  std::vector<opyard_schema> given = {schema("mine", "f(Tensor x -> Tensor")};
  given[0].file = text("mine.c");
  given[0].line = 17;
  const opyard_schemas_ext offered = extension(given);
  const Schemas schemas(&offered);
  const std::string message =
      error_of([&] { dispatcher.register_blocks(schemas.blocks()); }, Code::kInvalidArgument);
  EXPECT_TRUE(contains(message, "mine.c:17")) << message;
}

TEST(Schemas, NoneAreFineAndHalfOnesAreRefused) {
  const opyard_schemas_ext none{sizeof(none), 0, nullptr, 0};
  EXPECT_EQ(Schemas(&none).blocks().size(), 0u);
  EXPECT_EQ(Schemas().blocks().size(), 0u);
  EXPECT_TRUE(contains(refused({schema("", "f() -> ()")}), "no namespace"));
  EXPECT_TRUE(contains(refused({schema("mine", "")}), "no schema"));
  std::vector<opyard_schema> odd = {schema("mine", "f() -> ()"), schema("mine", "g() -> ()")};
  odd[1].struct_size += 8;
  EXPECT_TRUE(contains(refused(odd), "one size"));
  odd[1] = schema("mine", "g() -> ()");
  odd[0].struct_size = 8;
  EXPECT_TRUE(contains(refused(odd), "struct_size is 8"));
  odd[0] = schema("mine", "f() -> ()");
  odd[0].doc = {nullptr, 9, 0};
  EXPECT_TRUE(contains(refused(odd), "null pointer"));
  const opyard_schemas_ext many{sizeof(many), 0, odd.data(), uint64_t{1} << 60};
  EXPECT_TRUE(contains(error_of([&] { Schemas{&many}; }, Code::kInvalidArgument), "the most"));
  const opyard_schemas_ext null{sizeof(null), 0, nullptr, 1};
  EXPECT_TRUE(contains(error_of([&] { Schemas{&null}; }, Code::kInvalidArgument), "null pointer"));
  EXPECT_TRUE(
      contains(error_of([&] { Schemas{nullptr}; }, Code::kInvalidArgument), "null pointer"));
}

}  // namespace
}  // namespace opyard::plugin
