#include "kernels/shape/layout.h"

#include <gtest/gtest.h>

namespace opyard::shape {
namespace {

bool dense(Dims sizes, Dims strides) { return is_dense<int64_t>(sizes, strides); }

TEST(Layout, DenseInAnyOrder) {
  EXPECT_TRUE(dense({2, 3}, {3, 1}));
  EXPECT_TRUE(dense({2, 3}, {1, 2}));
  EXPECT_TRUE(dense({2, 1, 3}, {3, 99, 1}));
  EXPECT_TRUE(dense({}, {}));
  EXPECT_TRUE(dense({0, 3}, {7, 7}));
  EXPECT_FALSE(dense({2, 3}, {4, 1}));
  EXPECT_FALSE(dense({2, 3}, {0, 1}));
}

class Overlaps : public testing::Test {
 protected:
  Tensor window(Dims sizes, Dims strides, int64_t offset) {
    return view_of(base_, sizes, strides, offset);
  }
  Tensor base_ = make_tensor({12}, ScalarType::kFloat32);
};

TEST_F(Overlaps, WithinOneTensor) {
  EXPECT_FALSE(overlaps_itself(base_));
  EXPECT_FALSE(overlaps_itself(window({3, 4}, {1, 3}, 0)));
  EXPECT_FALSE(overlaps_itself(window({2, 2}, {6, 2}, 0)));
  EXPECT_FALSE(overlaps_itself(window({1}, {0}, 0)));
  EXPECT_FALSE(overlaps_itself(window({0, 3}, {0, 0}, 0)));
  EXPECT_TRUE(overlaps_itself(window({3}, {0}, 0)));
  EXPECT_TRUE(overlaps_itself(window({4, 3}, {2, 1}, 0)));
}

TEST_F(Overlaps, BetweenTwoTensors) {
  EXPECT_EQ(overlap(base_, base_), Overlap::kFull);
  EXPECT_EQ(overlap(window({4}, {1}, 2), window({4}, {1}, 2)), Overlap::kFull);
  EXPECT_EQ(overlap(window({4}, {1}, 0), window({4}, {1}, 4)), Overlap::kNone);
  EXPECT_EQ(overlap(window({4}, {1}, 0), window({4}, {1}, 3)), Overlap::kPartial);
  EXPECT_EQ(overlap(window({2, 2}, {2, 1}, 0), window({2, 2}, {1, 2}, 0)), Overlap::kPartial);
  EXPECT_EQ(overlap(window({3}, {2}, 0), window({3}, {2}, 1)), Overlap::kUnknown);
  EXPECT_EQ(overlap(window({0}, {1}, 0), base_), Overlap::kNone);
  EXPECT_EQ(overlap(base_, make_tensor({12}, ScalarType::kFloat32)), Overlap::kNone);
}

}  // namespace
}  // namespace opyard::shape
