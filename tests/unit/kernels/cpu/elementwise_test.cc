#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "tests/unit/kernels/cpu/tensors.h"

namespace opyard::cpu {
namespace {

using namespace test;

Tensor out(IntList sizes, ScalarType dtype = ScalarType::kFloat32) {
  return make_tensor(sizes, dtype);
}

TEST(CpuArithmetic, AddsWithFactorAndBroadcast) {
  Tensor result = out({2, 2});
  add(floats({2, 2}, {1, 2, 3, 4}), floats({2}, {10, 20}), 2, result);
  expect_values(result, {21, 42, 23, 44});
}

TEST(CpuArithmetic, MixedDtypesMeetInTheCommonOne) {
  Tensor result = out({2});
  mul(tensor<int64_t>({2}, {3, 4}), floats({2}, {0.5f, 0.25f}), result);
  expect_values(result, {1.5, 1});
  // A bare number of float64 does not widen float32.
  Tensor same = out({2});
  add(floats({2}, {1, 2}), wrapped_number(0.1), 1, same);
  expect_values(same, {static_cast<double>(1 + 0.1f), static_cast<double>(2 + 0.1f)});
}

TEST(CpuArithmetic, IntegersWrapInsteadOfFailing) {
  Tensor result = out({1}, ScalarType::kInt64);
  const auto most = std::numeric_limits<int64_t>::max();
  add(tensor<int64_t>({1}, {most}), tensor<int64_t>({1}, {1}), 1, result);
  EXPECT_EQ(*result.data<int64_t>(), std::numeric_limits<int64_t>::min());
  neg(result, result);
  EXPECT_EQ(*result.data<int64_t>(), std::numeric_limits<int64_t>::min());
  Tensor bytes = out({1}, ScalarType::kUInt8);
  sub(tensor<uint8_t>({1}, {1}), tensor<uint8_t>({1}, {2}), 1, bytes);
  EXPECT_EQ(*bytes.data<uint8_t>(), 255);
}

TEST(CpuArithmetic, BoolsAddAsOr) {
  const Tensor a = tensor<bool>({4}, {false, false, true, true});
  const Tensor b = tensor<bool>({4}, {false, true, false, true});
  Tensor result = out({4}, ScalarType::kBool);
  add(a, b, 1, result);
  expect_values(result, {0, 1, 1, 1});
  mul(a, b, result);
  expect_values(result, {0, 0, 0, 1});
  expect_error(Code::kUnimplemented, "bool", [&] { sub(a, b, 1, result); });
}

TEST(CpuArithmetic, DivisionOfIntegersIsReal) {
  Tensor result = out({4});
  div(tensor<int32_t>({4}, {1, 1, 0, -1}), tensor<int32_t>({4}, {2, 0, 0, 0}), result);
  expect_values(result, {0.5, kInf, kNan, -kInf});
}

TEST(CpuArithmetic, FractionalFactorIsRefusedForIntegers) {
  Tensor result = out({1}, ScalarType::kInt64);
  const Tensor one = tensor<int64_t>({1}, {1});
  expect_error(Code::kInvalidArgument, "0.5", [&] { add(one, one, 0.5, result); });
}

TEST(CpuArithmetic, InPlaceOnATransposedTensor) {
  Tensor a = transposed(floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  add(a, floats({2}, {10, 20}), 1, a);
  expect_values(a, {11, 24, 12, 25, 13, 26});
}

TEST(CpuArithmetic, ResultIsConvertedToTheOutput) {
  Tensor result = out({3}, ScalarType::kInt32);
  mul(floats({3}, {1.5f, -2.5f, 3}), floats({}, {1}), result);
  expect_values(result, {1, -2, 3});
}

TEST(CpuArithmetic, LargeTensorsAreSplitOverThreads) {
  const int64_t n = 300001;
  Tensor a = out({n}, ScalarType::kInt64);
  for (int64_t i = 0; i < n; ++i) a.data<int64_t>()[i] = i;
  Tensor result = out({n}, ScalarType::kInt64);
  add(a, a, 1, result);
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(result.data<int64_t>()[i], 2 * i);
}

TEST(CpuUnary, SpecialValues) {
  Tensor result = out({4});
  const Tensor x = floats({4}, {0, float(kInf), float(-kInf), float(kNan)});
  exp(x, result);
  expect_values(result, {1, kInf, 0, kNan});
  log(x, result);
  expect_values(result, {-kInf, kInf, kNan, kNan});
  sqrt(x, result);
  expect_values(result, {0, kInf, kNan, kNan});
  tanh(x, result);
  expect_values(result, {0, 1, -1, kNan});
  sigmoid(x, result);
  expect_values(result, {0.5, 1, 0, kNan});
  relu(x, result);
  expect_values(result, {0, kInf, 0, kNan});
  neg(x, result);
  expect_values(result, {0, -kInf, kInf, kNan});
  EXPECT_TRUE(std::signbit(*result.data<float>()));
}

TEST(CpuUnary, IntegersAreReadAsFloat32) {
  Tensor result = out({2});
  sqrt(tensor<int64_t>({2}, {4, 9}), result);
  expect_values(result, {2, 3});
  Tensor whole = out({3}, ScalarType::kInt32);
  relu(tensor<int32_t>({3}, {-1, 0, 5}), whole);
  expect_values(whole, {0, 0, 5});
}

TEST(CpuCompare, NanIsUnequalToEverything) {
  const Tensor a = floats({3}, {1, float(kNan), 3});
  const Tensor b = floats({3}, {2, float(kNan), 3});
  Tensor result = out({3}, ScalarType::kBool);
  eq(a, b, result);
  expect_values(result, {0, 0, 1});
  ne(a, b, result);
  expect_values(result, {1, 1, 0});
  lt(a, b, result);
  expect_values(result, {1, 0, 0});
  ge(a, b, result);
  expect_values(result, {0, 0, 1});
  gt(a, wrapped_number(1.5), result);
  expect_values(result, {0, 0, 1});
  le(a, tensor<int64_t>({3}, {1, 1, 1}), result);
  expect_values(result, {1, 0, 0});
}

TEST(CpuCompare, InPlaceKeepsTheDtype) {
  Tensor a = tensor<int64_t>({3}, {5, 6, 7});
  gt(a, tensor<int64_t>({}, {5}), a);
  expect_values(a, {0, 1, 1});
}

TEST(CpuWhere, PicksAndBroadcasts) {
  Tensor result = out({2, 2}, ScalarType::kFloat64);
  where(tensor<bool>({2, 1}, {true, false}), tensor<double>({2}, {1, 2}), floats({}, {9}), result);
  expect_values(result, {1, 2, 9, 9});
}

TEST(CpuWhere, RunsOfOneDtype) {
  Tensor result = out({4});
  const Tensor condition = tensor<bool>({4}, {true, false, true, false});
  where(condition, floats({4}, {1, 2, 3, 4}), floats({4}, {5, 6, 7, 8}), result);
  expect_values(result, {1, 6, 3, 8});
  where(condition, floats({4}, {1, 2, 3, 4}), floats({}, {0}), result);
  expect_values(result, {1, 0, 3, 0});
}

TEST(CpuElementwise, EmptyTensors) {
  Tensor result = out({0, 3});
  add(floats({0, 3}, {}), floats({3}, {1, 2, 3}), 1, result);
  exp(floats({0, 3}, {}), result);
  EXPECT_EQ(result.numel(), 0);
}

TEST(CpuElementwise, OtherDevicesAreRefused) {
  Tensor meta = make_tensor({2}, ScalarType::kFloat32, Backend::kMeta);
  Tensor host = floats({2}, {1, 2});
  expect_error(Code::kInvalidArgument, "meta", [&] { add(host, host, 1, meta); });
  expect_error(Code::kInvalidArgument, "meta", [&] { add(host, meta, 1, host); });
}

}  // namespace
}  // namespace opyard::cpu
