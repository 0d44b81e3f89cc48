#include "opyard/runtime/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/dispatch/library.h"
#include "tests/unit/runtime/test_operators.h"

namespace opyard::runtime {
namespace {

using ::testing::HasSubstr;

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() { testing::define_test_operators(); }
};

TEST_F(CatalogTest, PagesCoverEverythingOnceInOrder) {
  const OpPage all = list_operators("test::", 0, "");
  ASSERT_GE(all.total, 15u);
  EXPECT_TRUE(all.next.empty());
  std::vector<std::string> names;
  std::string after;
  do {
    const OpPage page = list_operators("test::", 4, after);
    EXPECT_LE(page.schemas.size(), 4u);
    EXPECT_EQ(page.total, all.total);
    for (const FunctionSchema& schema : page.schemas) names.push_back(schema.full_name());
    after = page.next;
  } while (!after.empty());
  ASSERT_EQ(names.size(), all.total);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THROW(list_operators("test::", 4, "aten::add"), Error);
}

TEST_F(CatalogTest, SchemasByFullAndBareName) {
  EXPECT_EQ(schemas_of("test::over.A").size(), 1u);
  EXPECT_EQ(schemas_of("test::over").size(), 2u);
  EXPECT_EQ(to_string(schemas_of("test::numel")[0]), "test::numel(Tensor x) -> int");
  try {
    schemas_of("test::ovr");
    FAIL() << "an unknown operator was found";
  } catch (const CallError& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.message(), HasSubstr("test::over"));
  }
}

TEST_F(CatalogTest, ExplainSaysWhichKernelRuns) {
  OpCall call;
  call.op = "test::twice";
  const Explanation usual = explain_call(call, {}, {}, {}, nullptr);
  ASSERT_FALSE(usual.trail.empty());
  EXPECT_FALSE(usual.fails);
  EXPECT_THAT(to_string(usual), HasSubstr("test::twice"));
  EXPECT_THROW(explain_call(call, {"NoSuchKey"}, {}, {}, nullptr), Error);
  EXPECT_THROW(explain_call(call, {"Autograd"}, {}, {}, nullptr), Error) << "an alias";
  call.op = "test::nothing";
  EXPECT_THROW(explain_call(call, {}, {}, {}, nullptr), CallError);
}

TEST_F(CatalogTest, TablesHaveARowPerKey) {
  const Table table = dump_table("test::twice", TableKind::kComputed);
  EXPECT_EQ(table.rows.size(), 138u);
  EXPECT_FALSE(table.text.empty());
  EXPECT_EQ(dump_table("test::twice", TableKind::kSlots).rows.size(), 138u);
  EXPECT_LT(dump_table("test::twice", TableKind::kRegistrations).rows.size(), 138u);
  EXPECT_LT(dump_table("test::twice", TableKind::kFolded).rows.size(), 10u);
}

TEST_F(CatalogTest, ABareNameStandsForItsOnlyOverload) {
  const Registration overloads =
      Dispatcher::global().register_block(BlockKind::kFragment, "over", "", [](Library& m) {
        m.def("one.x(Tensor x) -> Tensor").def("two.x(Tensor x) -> Tensor");
        m.def("two.y(Tensor y) -> Tensor");
      });
  EXPECT_EQ(dump_table("over::one", TableKind::kFolded).op, "over::one.x");
  try {
    dump_table("over::two", TableKind::kFolded);
    ADD_FAILURE() << "has several";
  } catch (const CallError& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.message(), HasSubstr("over::two.x, over::two.y"));
  }
}

TEST_F(CatalogTest, AllTablesAreAsRegistered) {
  const CheckedTables checked = check_tables();
  EXPECT_GT(checked.operators, 10u);
  EXPECT_THAT(checked.text, HasSubstr("operators"));
}

// Registers one kernel as if a plugin called "other" had brought it.
Registration brought(BlockKind kind, std::string_view key) {
  std::vector<Library> blocks;
  blocks.emplace_back(kind, "test", key);
  const auto kernel = [](const Tensor& x) { return x; };
  if (kind == BlockKind::kImpl) {
    blocks.back().impl("twice", kernel);
  } else {
    blocks.back().def("brought(Tensor x) -> Tensor", kernel);
  }
  return Dispatcher::global().register_libraries(blocks, {"other", 1});
}

TEST_F(CatalogTest, DevicesAreThoseOfDirectKernelsOnly) {
  const std::vector<std::string> before = devices_with_kernels();
  {
    const Registration composite = brought(BlockKind::kFragment, "");
    EXPECT_EQ(devices_with_kernels(), before);
  }
  {
    const Registration composite = brought(BlockKind::kFragment, "CompositeExplicitAutograd");
    EXPECT_EQ(devices_with_kernels(), before);
  }
  const Registration direct = brought(BlockKind::kImpl, "CUDA");
  EXPECT_THAT(devices_with_kernels(), ::testing::Contains("cuda"));
  EXPECT_EQ(devices_with_kernels().size(), before.size() + 1);
}

}  // namespace
}  // namespace opyard::runtime
