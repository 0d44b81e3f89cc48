#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "kernels/shape/compute_gate.h"
#include "tests/unit/kernels/cpu/tensors.h"

namespace opyard::cpu {
namespace {

using namespace test;

Tensor out(IntList sizes, ScalarType dtype = ScalarType::kFloat32) {
  return make_tensor(sizes, dtype);
}

TEST(CpuSum, OverEachAndAllDimensions) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor columns = out({3});
  sum(a, IntList(0), false, {}, columns);
  expect_values(columns, {5, 7, 9});
  Tensor rows = out({2, 1});
  sum(a, IntList(-1), true, {}, rows);
  expect_values(rows, {6, 15});
  Tensor all = out({});
  sum(a, {}, false, {}, all);
  expect_values(all, {21});
  sum(a, IntList(), false, {}, all);
  expect_values(all, {21});
  Tensor turned = out({2});
  sum(transposed(a), IntList(0), false, {}, turned);
  expect_values(turned, {6, 15});
}

TEST(CpuSum, DtypesAndWidening) {
  Tensor wide = out({}, ScalarType::kInt64);
  sum(tensor<uint8_t>({3}, {200, 200, 200}), {}, false, {}, wide);
  expect_values(wide, {600});
  sum(tensor<bool>({3}, {true, true, false}), {}, false, {}, wide);
  expect_values(wide, {2});
  Tensor bytes = out({}, ScalarType::kUInt8);
  sum(tensor<int64_t>({2}, {200, 100}), {}, false, ScalarType::kUInt8, bytes);
  expect_values(bytes, {44});
  Tensor real = out({}, ScalarType::kFloat64);
  sum(tensor<int32_t>({2}, {1, 2}), {}, false, ScalarType::kFloat64, real);
  expect_values(real, {3});
}

TEST(CpuSum, NothingAndNumbers) {
  Tensor none = out({3});
  sum(floats({0, 3}, {}), IntList(0), false, {}, none);
  expect_values(none, {0, 0, 0});
  Tensor number = out({});
  sum(floats({}, {7}), IntList(-1), true, {}, number);
  expect_values(number, {7});
  mean(floats({0}, {}), {}, false, {}, number);
  expect_values(number, {kNan});
}

TEST(CpuSum, ManySmallNumbersKeepTheirDigits) {
  const int64_t n = 1 << 21;
  Tensor a = out({n});
  fill(0.1, a);
  Tensor total = out({});
  sum(a, {}, false, {}, total);
  expect_values(total, {static_cast<double>(0.1f) * static_cast<double>(n)}, 1e-6);
}

TEST(CpuSum, DoesNotDependOnTheNumberOfThreads) {
  const int before = shape::compute_threads();
  Tensor a = out({300, 1001});
  for (int64_t i = 0; i < a.numel(); ++i) a.data<float>()[i] = 1.0f / static_cast<float>(i + 1);
  for (const int64_t dim : {0, 1}) {
    Tensor one = out({dim == 0 ? 1001 : 300});
    Tensor many = out(one.sizes());
    shape::set_compute_threads(1);
    sum(a, IntList(dim), false, {}, one);
    shape::set_compute_threads(4);
    sum(a, IntList(dim), false, {}, many);
    shape::set_compute_threads(before);
    EXPECT_EQ(values(one), values(many));
  }
}

TEST(CpuSum, WrongDimensionsAreNamed) {
  Tensor row = out({3});
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_error(Code::kOutOfRange, "dimension 2", [&] { sum(a, IntList(2), false, {}, row); });
  expect_error(Code::kInvalidArgument, "twice", [&] { sum(a, IntList({0, -2}), false, {}, row); });
  expect_error(Code::kInvalidArgument, "[2]", [&] { sum(a, IntList(1), false, {}, row); });
}

TEST(CpuMean, OverADimension) {
  Tensor rows = out({2});
  mean(floats({2, 2}, {1, 2, 3, 5}), IntList(1), false, {}, rows);
  expect_values(rows, {1.5, 4});
  Tensor real = out({});
  mean(tensor<int64_t>({4}, {4, 2, 3, 4}), {}, false, ScalarType::kFloat32, real);
  expect_values(real, {3.25});
}

TEST(CpuAmax, NanWins) {
  Tensor rows = out({3});
  amax(floats({3, 3}, {1, float(kNan), 3, float(-kInf), float(-kInf), float(-kInf), 5, 9, 7}),
       IntList(1), false, rows);
  expect_values(rows, {kNan, -kInf, 9});
  Tensor whole = out({1}, ScalarType::kInt64);
  amax(tensor<int64_t>({3}, {-5, -2, -9}), IntList(0), true, whole);
  expect_values(whole, {-2});
  Tensor truth = out({}, ScalarType::kBool);
  amax(tensor<bool>({2}, {false, true}), IntList(), false, truth);
  expect_values(truth, {1});
  Tensor none = out({});
  expect_error(Code::kInvalidArgument, "[0]",
               [&] { amax(floats({0}, {}), IntList(0), false, none); });
}

TEST(CpuAmax, LongRunsInEveryLane) {
  Tensor a = out({1000});
  for (int64_t at = 0; at < 1000; at += 37) {
    fill(-1, a);
    a.data<float>()[at] = 5;
    Tensor most = out({});
    amax(a, IntList(), false, most);
    ASSERT_EQ(*most.data<float>(), 5) << at;
    a.data<float>()[at] = float(kNan);
    amax(a, IntList(), false, most);
    ASSERT_TRUE(std::isnan(*most.data<float>())) << at;
  }
}

TEST(CpuArgmax, FirstOfEqualsAndNan) {
  Tensor rows = out({3}, ScalarType::kInt64);
  argmax(floats({3, 3}, {1, 5, 5, 2, float(kNan), float(kNan), 0, 0, 0}), 1, false, rows);
  expect_values(rows, {1, 1, 0});
  Tensor columns = out({1, 3}, ScalarType::kInt64);
  argmax(floats({2, 3}, {1, 5, 2, 3, 4, 2}), 0, true, columns);
  expect_values(columns, {1, 0, 0});
}

TEST(CpuArgmax, FlattenedPositionsFollowTheShape) {
  Tensor all = out({}, ScalarType::kInt64);
  argmax(transposed(floats({2, 3}, {1, 2, 3, 4, 9, 6})), {}, false, all);
  expect_values(all, {3});
  argmax(floats({}, {1}), -1, false, all);
  expect_values(all, {0});
  expect_error(Code::kInvalidArgument, "[0]", [&] { argmax(floats({0}, {}), {}, false, all); });
}

TEST(CpuSoftmax, LargeNumbersAndOtherDimensions) {
  Tensor result = out({2, 2});
  softmax(floats({2, 2}, {1, 2, 1000, 1000}), 1, false, result);
  expect_values(result, {1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-1.0)), 0.5, 0.5}, 1e-6);
  softmax(floats({2, 2}, {1, 5, 2, 5}), 0, false, result);
  expect_values(result, {1 / (1 + std::exp(1.0)), 0.5, 1 / (1 + std::exp(-1.0)), 0.5}, 1e-6);
  Tensor turned = transposed(out({2, 2}));
  softmax(transposed(floats({2, 2}, {1, 1000, 2, 1000})), 1, false, turned);
  expect_values(turned, {1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-1.0)), 0.5, 0.5}, 1e-6);
}

TEST(CpuSoftmax, SpecialValues) {
  Tensor result = out({2, 2});
  softmax(floats({2, 2}, {0, float(-kInf), float(kNan), 1}), 1, false, result);
  expect_values(result, {1, 0, kNan, kNan});
  Tensor number = out({});
  softmax(floats({}, {3}), 0, false, number);
  expect_values(number, {1});
  Tensor none = out({2, 0});
  softmax(floats({2, 0}, {}), 1, false, none);
  Tensor whole = out({2}, ScalarType::kInt64);
  expect_error(Code::kUnimplemented, "int64", [&] {
    softmax(tensor<int64_t>({2}, {1, 2}), 0, false, whole);
  });
}

}  // namespace
}  // namespace opyard::cpu
