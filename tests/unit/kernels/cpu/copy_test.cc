#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "tests/unit/kernels/cpu/tensors.h"

namespace opyard::cpu {
namespace {

using namespace test;

TEST(CpuCopy, ConvertsAndBroadcasts) {
  Tensor whole = make_tensor({2, 3}, ScalarType::kInt32);
  copy(floats({3}, {9.7f, -1.2f, 0.5f}), false, whole);
  expect_values(whole, {9, -1, 0, 9, -1, 0});
  Tensor truth = make_tensor({4}, ScalarType::kBool);
  copy(floats({4}, {0, float(kNan), -0.5f, 2}), false, truth);
  expect_values(truth, {0, 1, 1, 1});
}

TEST(CpuCopy, RealNumbersThatDoNotFitHaveADefinedValue) {
  const Tensor wild = floats({4}, {float(kNan), float(kInf), 1e20f, -1});
  Tensor wide = make_tensor({4}, ScalarType::kInt64);
  copy(wild, false, wide);
  const auto least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(wide.data<int64_t>()[0], least);
  EXPECT_EQ(wide.data<int64_t>()[1], least);
  EXPECT_EQ(wide.data<int64_t>()[2], least);
  EXPECT_EQ(wide.data<int64_t>()[3], -1);
  Tensor bytes = make_tensor({4}, ScalarType::kUInt8);
  copy(wild, false, bytes);
  expect_values(bytes, {0, 0, 0, 255});
}

TEST(CpuCopy, TransposedBothWays) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor b = make_tensor({3, 2}, ScalarType::kFloat32);
  copy(transposed(a), false, b);
  expect_values(b, {1, 4, 2, 5, 3, 6});
  Tensor back = make_tensor({2, 3}, ScalarType::kFloat32);
  Tensor target = transposed(back);
  copy(b, false, target);
  expect_values(back, {1, 2, 3, 4, 5, 6});
}

TEST(CpuCopy, OverlappingWindowsReadFirst) {
  const Tensor a = floats({5}, {1, 2, 3, 4, 5});
  Tensor shifted = view_of(a, {4}, {1}, 1);
  copy(view_of(a, {4}, {1}, 0), false, shifted);
  expect_values(a, {1, 1, 2, 3, 4});
  const Tensor square = floats({2, 2}, {1, 2, 3, 4});
  Tensor turned = transposed(square);
  copy(square, false, turned);
  expect_values(square, {1, 3, 2, 4});
}

TEST(CpuCopy, TargetsWithSharedElementsAreRefused) {
  Tensor expanded = view_of(floats({1}, {0}), {3}, {0}, 0);
  expect_error(Code::kInvalidArgument, "clone", [&] {
    copy(floats({3}, {1, 2, 3}), false, expanded);
  });
  expect_error(Code::kInvalidArgument, "clone", [&] { fill(1, expanded); });
}

TEST(CpuFill, EveryDtypeAndStride) {
  Tensor a = floats({2, 2}, {0, 0, 0, 0});
  Tensor column = view_of(a, {2}, {2}, 1);
  fill(2.5, column);
  expect_values(a, {0, 2.5, 0, 2.5});
  Tensor whole = make_tensor({2}, ScalarType::kInt64);
  fill(1.9, whole);
  expect_values(whole, {1, 1});
  Tensor bytes = make_tensor({1}, ScalarType::kUInt8);
  expect_error(Code::kInvalidArgument, "300", [&] { fill(300, bytes); });
  expect_error(Code::kInvalidArgument, "nan", [&] { fill(kNan, whole); });
}

TEST(CpuLocalScalar, ReadsTheOneElement) {
  EXPECT_EQ(local_scalar_dense(tensor<int32_t>({1, 1}, {-7})).to_int(), -7);
  EXPECT_TRUE(local_scalar_dense(tensor<bool>({}, {true})).is_bool());
  EXPECT_EQ(local_scalar_dense(floats({}, {0.5f})).to_double(), 0.5);
  expect_error(Code::kInvalidArgument, "2 elements", [] {
    local_scalar_dense(floats({2}, {1, 2}));
  });
}

TEST(CpuCat, AlongAnyDimensionAndConverting) {
  Tensor result = make_tensor({2, 3}, ScalarType::kFloat32);
  const std::vector<Tensor> parts = {floats({2, 1}, {1, 2}), floats({0}, {}),
                                     transposed(tensor<int64_t>({2, 2}, {3, 4, 5, 6}))};
  cat(parts, 1, result);
  expect_values(result, {1, 3, 5, 2, 4, 6});
  cat(parts, -1, result);
  expect_values(result, {1, 3, 5, 2, 4, 6});
  Tensor small = make_tensor({2, 2}, ScalarType::kFloat32);
  EXPECT_THROW(cat(parts, 1, small), Error);
}

TEST(CpuIndexSelect, RowsColumnsAndNumbers) {
  const Tensor a = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor index = tensor<int64_t>({4}, {2, 0, 0, 1});
  Tensor rows = make_tensor({4, 2}, ScalarType::kFloat32);
  index_select(a, 0, index, rows);
  expect_values(rows, {5, 6, 1, 2, 1, 2, 3, 4});
  Tensor columns = make_tensor({3, 2}, ScalarType::kFloat32);
  index_select(a, -1, tensor<int32_t>({2}, {1, 0}), columns);
  expect_values(columns, {2, 1, 4, 3, 6, 5});
  Tensor turned = make_tensor({2, 4}, ScalarType::kFloat32);
  index_select(transposed(a), 1, index, turned);
  expect_values(turned, {5, 1, 1, 3, 6, 2, 2, 4});
  Tensor number = make_tensor({}, ScalarType::kFloat32);
  index_select(floats({}, {7}), 0, tensor<int64_t>({1}, {0}), number);
  expect_values(number, {7});
}

TEST(CpuIndexSelect, WrongIndicesNameValuePositionAndSize) {
  const Tensor a = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor rows = make_tensor({2, 2}, ScalarType::kFloat32);
  expect_error(Code::kOutOfRange, "index 3 at position 1 is out of range for a dimension of size 3",
               [&] {
                 index_select(a, 0, tensor<int64_t>({2}, {0, 3}), rows);
               });
  expect_error(Code::kOutOfRange, "index -1 at position 0", [&] {
    index_select(a, 0, tensor<int64_t>({2}, {-1, 0}), rows);
  });
  expect_error(Code::kInvalidArgument, "float32", [&] {
    index_select(a, 0, floats({2}, {0, 1}), rows);
  });
  Tensor none = make_tensor({2, 0}, ScalarType::kFloat32);
  expect_error(Code::kOutOfRange, "index 9", [&] {
    index_select(floats({3, 0}, {}), 0, tensor<int64_t>({2}, {9, 0}), none);
  });
}

}  // namespace
}  // namespace opyard::cpu
