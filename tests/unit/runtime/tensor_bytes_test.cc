#include "opyard/runtime/tensor_bytes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/runtime/test_operators.h"

namespace opyard::runtime {
namespace {

// 2 × 3 × 4 numbers 0 … 23, and the same seen with the first and last dimension swapped.
class TensorBytesTest : public ::testing::Test {
 protected:
  TensorBytesTest() {
    base_ = make_tensor({2, 3, 4}, ScalarType::kInt32);
    for (int32_t i = 0; i < 24; ++i) base_.data<int32_t>()[i] = i;
    swapped_ = view_of(base_, {4, 3, 2}, {1, 4, 12}, 0);
    for (int32_t i = 0; i < 4; ++i) {
      for (int32_t j = 0; j < 3; ++j) {
        for (int32_t k = 0; k < 2; ++k) expected_.push_back(i + 4 * j + 12 * k);
      }
    }
  }
  Tensor base_;
  Tensor swapped_;
  std::vector<int32_t> expected_;
};

TEST_F(TensorBytesTest, WholeTensor) {
  std::vector<int32_t> out(24);
  read_row_major(swapped_, 0, 96, out.data());
  EXPECT_EQ(out, expected_);
  read_row_major(base_, 0, 96, out.data());
  EXPECT_EQ(out[23], 23);
}

TEST_F(TensorBytesTest, EveryRangeOfBytes) {
  const char* all = reinterpret_cast<const char*>(expected_.data());
  for (uint64_t offset = 0; offset <= 96; ++offset) {
    for (uint64_t length = 0; length <= 96 - offset; ++length) {
      std::vector<char> out(length + 1, '?');
      read_row_major(swapped_, offset, length, out.data());
      ASSERT_EQ(std::memcmp(out.data(), all + offset, length), 0) << offset << " " << length;
      ASSERT_EQ(out[length], '?');
    }
  }
}

TEST_F(TensorBytesTest, ExpandedAndOffsetViews) {
  const Tensor row = view_of(base_, {3, 4}, {0, 1}, 20);
  std::vector<int32_t> out(12);
  read_row_major(row, 0, 48, out.data());
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(out[i], 20 + static_cast<int32_t>(i % 4));
}

TEST_F(TensorBytesTest, EmptyAndScalar) {
  const Tensor empty = make_tensor({0, 3}, ScalarType::kFloat32);
  EXPECT_EQ(contiguous_bytes(empty), 0u);
  read_row_major(empty, 0, 0, nullptr);
  const Tensor scalar = view_of(base_, {}, {}, 7);
  int32_t out = 0;
  read_row_major(scalar, 0, 4, &out);
  EXPECT_EQ(out, 7);
}

TEST_F(TensorBytesTest, RangesOutsideAreRefused) {
  char out[8];
  EXPECT_THROW(read_row_major(base_, 97, 0, out), Error);
  EXPECT_THROW(read_row_major(base_, 90, 7, out), Error);
  EXPECT_THROW(read_row_major(base_, UINT64_MAX, 8, out), Error);
}

}  // namespace
}  // namespace opyard::runtime
