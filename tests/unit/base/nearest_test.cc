#include "opyard/base/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opyard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NearestTest, BestFirst) {
  EXPECT_THAT(nearest_names("aplha", {"other", "alphas", "alpha", "beta"}),
              ElementsAre("alpha", "alphas"));
}

TEST(NearestTest, NothingThatLooksOtherwise) {
  EXPECT_THAT(nearest_names("dim", {"generator", "memory_format"}), IsEmpty());
  EXPECT_THAT(nearest_names("", {"a"}), IsEmpty());
}

TEST(NearestTest, CaseCountsHalf) {
  EXPECT_THAT(nearest_names("DTYPE", {"dtype", "DTYPES"}, 1), ElementsAre("DTYPES"));
  EXPECT_THAT(nearest_names("Dtype", {"dtype", "dtypes"}, 1), ElementsAre("dtype"));
}

TEST(NearestTest, ALongScopeExcusesNoShortName) {
  const std::vector<std::string> names = {"aten::add", "aten::add_",  "aten::cat",
                                          "aten::t",   "aten::clone", "other::add"};
  EXPECT_THAT(nearest_names("aten::ad", names), ElementsAre("aten::add"));
  EXPECT_THAT(nearest_names("aten::x", names), IsEmpty());
  EXPECT_THAT(nearest_names("atne::add", names, 1), ElementsAre("aten::add"));
  EXPECT_THAT(nearest_names("kernel::cat", names), ElementsAre("aten::cat"));
  EXPECT_THAT(nearest_names("add", names, 2), ElementsAre("aten::add", "other::add"));
}

TEST(NearestTest, LongNamesCostNoMoreThanTheirBeginning) {
  const std::string huge(1 << 20, 'x');
  EXPECT_THAT(nearest_names(huge, {"add"}), IsEmpty());
}

}  // namespace
}  // namespace opyard
