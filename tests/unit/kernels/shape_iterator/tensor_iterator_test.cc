#include "kernels/shape/tensor_iterator.h"

#include <gtest/gtest.h>

#include <vector>

namespace opyard::shape {
namespace {

Tensor counting(IntList sizes, ScalarType dtype = ScalarType::kFloat32) {
  Tensor t = make_tensor(sizes, dtype);
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (dtype == ScalarType::kFloat32) t.data<float>()[i] = static_cast<float>(i);
    if (dtype == ScalarType::kInt32) t.data<int32_t>()[i] = static_cast<int32_t>(i);
  }
  return t;
}

// out = a + 100 b on floats, through whatever runs the iterator gives.
void add_hundreds(const TensorIterator& it, int64_t begin, int64_t end) {
  it.for_each(begin, end, [](char* const* data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<float*>(data[0] + i * strides[0]) =
          *reinterpret_cast<float*>(data[1] + i * strides[1]) +
          100 * *reinterpret_cast<float*>(data[2] + i * strides[2]);
    }
  });
}

TEST(TensorIterator, ContiguousOperandsAreOneRun) {
  const Tensor out = make_tensor({2, 3, 4}, ScalarType::kFloat32);
  const Tensor a = counting({2, 3, 4});
  const auto it = TensorIterator::elementwise(out, {&a});
  EXPECT_EQ(it.dims(), 1);
  EXPECT_EQ(it.inner_size(), 24);
  EXPECT_TRUE(it.is_dense());
}

TEST(TensorIterator, DenseOperandsInAnyOneOrderAreOneRun) {
  const Tensor out = view_of(make_tensor({3, 4}, ScalarType::kFloat32), {4, 3}, {1, 4}, 0);
  const Tensor a = view_of(counting({3, 4}), {4, 3}, {1, 4}, 0);
  EXPECT_EQ(TensorIterator::elementwise(out, {&a}).dims(), 1);
}

TEST(TensorIterator, BroadcastsFromTheRight) {
  const Tensor out = make_tensor({2, 3}, ScalarType::kFloat32);
  const Tensor row = counting({3});
  const Tensor column = counting({2, 1});
  const auto it = TensorIterator::elementwise(out, {&row, &column});
  add_hundreds(it, 0, it.numel());
  const std::vector<float> wanted = {0, 1, 2, 100, 101, 102};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(out.data<float>()[i], wanted[i]);
}

TEST(TensorIterator, RangesTogetherVisitEveryElementOnce) {
  // No two dimensions of these can be merged.
  const Tensor a = view_of(counting({5, 7, 4}), {4, 5, 3}, {1, 28, 8}, 1);
  const Tensor b = counting({5, 1});
  const Tensor whole = make_tensor({4, 5, 3}, ScalarType::kFloat32);
  const auto it = TensorIterator::elementwise(whole, {&a, &b});
  ASSERT_GT(it.dims(), 1);
  add_hundreds(it, 0, it.numel());
  for (int64_t size = 1; size <= it.numel(); ++size) {
    const Tensor parts = make_tensor({4, 5, 3}, ScalarType::kFloat32);
    std::fill_n(parts.data<float>(), 60, -1.0f);
    const auto again = TensorIterator::elementwise(parts, {&a, &b});
    for (int64_t begin = 0; begin < again.numel(); begin += size) {
      add_hundreds(again, begin, begin + size);
    }
    ASSERT_TRUE(std::equal(whole.data<float>(), whole.data<float>() + 60, parts.data<float>()))
        << "with ranges of " << size;
  }
}

TEST(TensorIterator, ConvertsInBlocks) {
  const int64_t n = 1300;  // more than two blocks
  const Tensor out = make_tensor({n}, ScalarType::kInt32);
  const Tensor a = counting({n}, ScalarType::kInt32);
  const Tensor one = counting({}, ScalarType::kInt32);
  auto it = TensorIterator::elementwise(out, {&a, &one});
  for (int i = 0; i < 3; ++i) it.present_as(i, ScalarType::kFloat32);
  add_hundreds(it, 0, n);
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out.data<int32_t>()[i], i);
}

TEST(TensorIterator, EmptyAndSingleElements) {
  const Tensor none = make_tensor({0, 3}, ScalarType::kFloat32);
  const Tensor row = counting({3});
  const auto empty = TensorIterator::elementwise(none, {&row, &row});
  EXPECT_EQ(empty.numel(), 0);
  add_hundreds(empty, 0, empty.numel());
  const Tensor number = make_tensor({}, ScalarType::kFloat32);
  const Tensor other = counting({});
  const auto single = TensorIterator::elementwise(number, {&other, &other});
  add_hundreds(single, 0, 1);
  EXPECT_EQ(*number.data<float>(), 0);
}

TEST(TensorIterator, RefusesWhatDoesNotFit) {
  const Tensor out = make_tensor({2, 3}, ScalarType::kFloat32);
  const Tensor wrong = counting({2});
  const Tensor deeper = counting({1, 1, 1});
  const Tensor meta = make_tensor({2, 3}, ScalarType::kFloat32, Backend::kMeta);
  const Tensor crowded = view_of(counting({3}), {2, 3}, {0, 1}, 0);
  EXPECT_THROW(TensorIterator::elementwise(out, {&wrong}), Error);
  EXPECT_THROW(TensorIterator::elementwise(out, {&deeper}), Error);
  EXPECT_THROW(TensorIterator::elementwise(out, {&meta}), Error);
  EXPECT_THROW(TensorIterator::elementwise(crowded, {&out}), Error);
}

TEST(TensorIterator, ReductionsHaveOutputsWithoutSteps) {
  const Tensor a = counting({2, 3});
  float sums[3] = {};
  const Dims sum_strides = {0, 1};
  const TensorIterator it(a.sizes(), {{sums, sum_strides, ScalarType::kFloat32},
                                      {a.raw_data(), a.strides(), ScalarType::kFloat32}});
  it.for_each(0, it.numel(), [](char* const* data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<float*>(data[0] + i * strides[0]) +=
          *reinterpret_cast<float*>(data[1] + i * strides[1]);
    }
  });
  EXPECT_EQ(sums[0], 3);
  EXPECT_EQ(sums[1], 5);
  EXPECT_EQ(sums[2], 7);
}

}  // namespace
}  // namespace opyard::shape
