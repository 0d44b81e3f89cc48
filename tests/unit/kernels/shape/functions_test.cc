#include "kernels/shape/functions.h"

#include <gtest/gtest.h>

#include <deque>

namespace opyard::shape {
namespace {

using T = ScalarType;

Operand<int64_t> of(IntList sizes, T dtype = T::kFloat32) {
  static std::deque<Dims> strides;
  strides.push_back(contiguous_strides(sizes));
  return {sizes, strides.back(), dtype, false};
}

template <typename F>
Code code_of(F function, std::string_view words = "") {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    return error.code();
  }
  return Code::kOk;
}

Dims broadcast_of(IntList a, IntList b) { return broadcast(a, b); }

TEST(Broadcast, AlignsAtTheEnd) {
  EXPECT_EQ(broadcast_of({2, 3}, {3}), (Dims{2, 3}));
  EXPECT_EQ(broadcast_of({3}, {2, 1}), (Dims{2, 3}));
  EXPECT_EQ(broadcast_of({2, 1, 4}, {3, 1}), (Dims{2, 3, 4}));
  EXPECT_EQ(broadcast_of({}, {2}), (Dims{2}));
  EXPECT_EQ(broadcast_of({0, 3}, {1, 1}), (Dims{0, 3}));
  EXPECT_EQ(broadcast_of({1}, {0}), (Dims{0}));
}

TEST(Broadcast, NamesTheDimensionThatDoesNotFit) {
  EXPECT_EQ(code_of([] { broadcast_of({2, 3}, {2, 4}); }, "sizes 3 and 4"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { broadcast_of({2}, {0}); }), Code::kInvalidArgument);
}

TEST(Pointwise, ResultTypes) {
  const Dims sizes{2};
  EXPECT_EQ(binary(of(sizes, T::kInt32), of(sizes, T::kInt64)).dtype, T::kInt64);
  EXPECT_EQ(binary_floating(of(sizes, T::kInt32), of(sizes, T::kInt64)).dtype, T::kFloat32);
  EXPECT_EQ(comparison(of(sizes, T::kInt32), of(sizes, T::kFloat64)).dtype, T::kBool);
  EXPECT_EQ(unary_floating(of(sizes, T::kBool)).dtype, T::kFloat32);
  EXPECT_EQ(unary_floating(of(sizes, T::kFloat64)).dtype, T::kFloat64);
  EXPECT_EQ(code_of([&] { signed_unary(of(sizes, T::kBool)); }, "bool"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { selection(of(sizes, T::kInt64), of(sizes), of(sizes)); }, "condition"),
            Code::kInvalidArgument);
}

TEST(Pointwise, AlphaMustFit) {
  const Dims sizes{2};
  const auto ints = of(sizes, T::kInt64);
  EXPECT_EQ(arithmetic(ints, ints, 2).dtype, T::kInt64);
  EXPECT_EQ(code_of([&] { arithmetic(ints, ints, 1.5); }, "alpha"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { arithmetic(ints, ints, true); }, "alpha"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { subtraction(of(sizes, T::kBool), ints, 1); }, "bool"),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { arithmetic(of(sizes), of(sizes), std::complex<double>(0, 1)); }, "real"),
            Code::kInvalidArgument);
}

TEST(Pointwise, KeepsADenseLayoutThatOperandsShare) {
  const Dims sizes{2, 3};
  const Dims turned{1, 2};
  const Dims row{3, 1};
  const Operand<int64_t> a{sizes, turned, T::kFloat32, false};
  const Operand<int64_t> b{sizes, row, T::kFloat32, false};
  EXPECT_EQ(binary(a, a).strides, turned);
  EXPECT_TRUE(binary(a, b).strides.empty());
  const Dims gaps{1, 4};
  EXPECT_TRUE(unary_floating(Operand<int64_t>{sizes, gaps, T::kFloat32, false}).strides.empty());
}

TEST(Reductions, DimensionsAndKeepdim) {
  const Dims sizes{2, 3, 4};
  const auto x = of(sizes, T::kInt32);
  const Dims first_last{0, -1};
  EXPECT_EQ(sum(x, IntList(first_last), false, {}).sizes, (Dims{3}));
  EXPECT_EQ(sum(x, IntList(first_last), true, {}).sizes, (Dims{1, 3, 1}));
  EXPECT_EQ(sum(x, std::nullopt, false, {}).sizes, Dims());
  EXPECT_EQ(sum(x, IntList(), true, {}).sizes, (Dims{1, 1, 1}));
  EXPECT_EQ(sum(x, std::nullopt, false, {}).dtype, T::kInt64);
  EXPECT_EQ(sum(x, std::nullopt, false, T::kFloat64).dtype, T::kFloat64);
  const Dims twice{1, -2};
  EXPECT_EQ(code_of([&] { sum(x, IntList(twice), false, {}); }, "twice"), Code::kInvalidArgument);
  const Dims beyond{3};
  EXPECT_EQ(code_of([&] { sum(x, IntList(beyond), false, {}); }), Code::kOutOfRange);
}

TEST(Reductions, ZeroDimensionalTensorsHaveDimensionZero) {
  const Dims zero{0};
  EXPECT_EQ(sum(of({}), IntList(zero), true, {}).sizes, Dims());
  EXPECT_EQ(arg_extremum(of({}), -1, false).sizes, Dims());
}

TEST(Reductions, MeanWantsAFloatingType) {
  const Dims sizes{2};
  EXPECT_EQ(code_of([&] { mean(of(sizes, T::kInt64), std::nullopt, false, {}); }, "dtype"),
            Code::kInvalidArgument);
  EXPECT_EQ(mean(of(sizes, T::kInt64), std::nullopt, false, T::kFloat32).dtype, T::kFloat32);
}

TEST(Reductions, NothingHasNoExtremum) {
  const Dims sizes{0, 3};
  const Dims zero{0};
  const Dims one{1};
  EXPECT_EQ(code_of([&] { extremum(of(sizes), zero, false); }, "empty"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { extremum(of(sizes), IntList(), false); }, "empty"),
            Code::kInvalidArgument);
  EXPECT_EQ(extremum(of(sizes), one, false).sizes, (Dims{0}));
  EXPECT_EQ(code_of([&] { arg_extremum(of(sizes), std::nullopt, false); }), Code::kInvalidArgument);
  EXPECT_EQ(arg_extremum(of(sizes), 1, true).sizes, (Dims{0, 1}));
}

TEST(Matrices, Products) {
  const Dims a{2, 3}, b{3, 4}, row{4}, other{3};
  EXPECT_EQ(matrix_product(of(a), of(b)).sizes, (Dims{2, 4}));
  EXPECT_EQ(code_of([&] { matrix_product(of(a), of(a)); }, "3 columns meet 2 rows"),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { matrix_product(of(row), of(b)); }, "matrix"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { matrix_product(of(a), of(b, T::kFloat64)); }, "float64"),
            Code::kInvalidArgument);
  EXPECT_EQ(matrix_product_plus(of(row), of(a), of(b), 1, 1).sizes, (Dims{2, 4}));
  EXPECT_EQ(code_of([&] { matrix_product_plus(of(other), of(a), of(b), 1, 1); }, "expand"),
            Code::kInvalidArgument);
}

TEST(Joining, Concatenation) {
  const Dims a{2, 3}, b{1, 3}, empty{0}, other{2, 2};
  EXPECT_EQ(concatenation<int64_t>({of(a), of(b)}, 0).sizes, (Dims{3, 3}));
  EXPECT_EQ(concatenation<int64_t>({of(empty), of(a), of(other)}, -1).sizes, (Dims{2, 5}));
  EXPECT_EQ(concatenation<int64_t>({of(empty), of(empty)}, 0).sizes, (Dims{0}));
  EXPECT_EQ(concatenation<int64_t>({of(a), of(b, T::kFloat64)}, 0).dtype, T::kFloat64);
  EXPECT_EQ(code_of(
                [&] {
                  concatenation<int64_t>({of(a), of(other)}, 0);
                },
                "tensor 1"),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { concatenation<int64_t>({}, 0); }, "empty list"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { concatenation<int64_t>({of({})}, 0); }, "0-d"), Code::kInvalidArgument);
  const Dims huge{INT64_MAX};
  EXPECT_EQ(code_of(
                [&] {
                  concatenation<int64_t>({of(huge), of(huge)}, 0);
                },
                "counted"),
            Code::kInvalidArgument);
}

TEST(Joining, IndexSelect) {
  const Dims a{2, 3}, five{5}, matrix{1, 1};
  const auto index = of(five, T::kInt64);
  EXPECT_EQ(index_select(of(a), -1, index).sizes, (Dims{2, 5}));
  EXPECT_EQ(index_select(of(a), 0, of({}, T::kInt32)).sizes, (Dims{1, 3}));
  EXPECT_EQ(code_of([&] { index_select(of(a), 0, of(five)); }, "int64"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { index_select(of(a), 0, of(matrix, T::kInt64)); }, "1-d"),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { index_select(of({}), 0, index); }, "5 indices"), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { index_select(of(a), 2, index); }), Code::kOutOfRange);
}

}  // namespace
}  // namespace opyard::shape
