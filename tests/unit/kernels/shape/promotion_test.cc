#include "kernels/shape/promotion.h"

#include <gtest/gtest.h>

namespace opyard::shape {
namespace {

using T = ScalarType;

struct Case {
  T a, b, wanted;
};

TEST(Promotion, TypesInBothOrders) {
  const Case cases[] = {
      {T::kBool, T::kBool, T::kBool},
      {T::kBool, T::kUInt8, T::kUInt8},
      {T::kUInt8, T::kInt8, T::kInt16},
      {T::kUInt8, T::kInt32, T::kInt32},
      {T::kInt32, T::kInt64, T::kInt64},
      {T::kInt64, T::kFloat16, T::kFloat16},
      {T::kFloat16, T::kBFloat16, T::kFloat32},
      {T::kFloat32, T::kFloat64, T::kFloat64},
      {T::kFloat64, T::kComplex64, T::kComplex128},
      {T::kFloat32, T::kComplex32, T::kComplex64},
      {T::kInt64, T::kComplex32, T::kComplex32},
      {T::kUInt16, T::kUInt64, T::kUInt64},
      {T::kUInt16, T::kFloat32, T::kFloat32},
      {T::kBool, T::kUInt32, T::kUInt32},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(promote_types(each.a, each.b), each.wanted)
        << to_string(each.a) << " " << to_string(each.b);
    EXPECT_EQ(promote_types(each.b, each.a), each.wanted);
  }
}

TEST(Promotion, RefusesWhatHasNoCommonType) {
  for (const auto& [a, b] : {std::pair{T::kUInt16, T::kInt32},
                             {T::kUInt64, T::kInt64},
                             {T::kQInt8, T::kInt8},
                             {T::kFloat8E4M3FN, T::kFloat32}}) {
    EXPECT_THROW(promote_types(a, b), Error) << to_string(a) << " " << to_string(b);
  }
}

struct Operands {
  std::optional<T> with_dims, without_dims, number;
  T wanted;
};

TEST(Promotion, CategoriesOfTensorsAndNumbers) {
  const Operands cases[] = {
      {T::kFloat32, T::kFloat64, {}, T::kFloat32},
      {T::kInt32, T::kInt64, {}, T::kInt32},
      {T::kInt64, T::kFloat64, {}, T::kFloat64},
      {T::kInt64, {}, T::kFloat64, T::kFloat32},
      {T::kUInt8, {}, T::kInt64, T::kUInt8},
      {T::kBool, {}, T::kInt64, T::kInt64},
      {T::kBool, {}, T::kBool, T::kBool},
      {{}, T::kFloat64, T::kFloat64, T::kFloat64},
      {{}, T::kInt32, T::kFloat64, T::kFloat32},
      {T::kFloat64, {}, T::kComplex128, T::kComplex128},
      {T::kFloat32, {}, T::kComplex128, T::kComplex64},
      {T::kInt64, T::kInt32, T::kFloat64, T::kFloat32},
      {{}, {}, T::kFloat64, T::kFloat32},
      {{}, {}, T::kInt64, T::kInt64},
  };
  for (const Operands& each : cases) {
    Promotion promotion;
    if (each.number) promotion.add(*each.number, 0, true);
    if (each.without_dims) promotion.add(*each.without_dims, 0, false);
    if (each.with_dims) promotion.add(*each.with_dims, 2, false);
    EXPECT_EQ(promotion.result(), each.wanted) << "case " << &each - cases;
  }
}

TEST(Promotion, NeedsAnOperand) { EXPECT_THROW(Promotion().result(), Error); }

TEST(Promotion, CastsGoUpTheCategories) {
  EXPECT_TRUE(can_cast(T::kFloat64, T::kFloat16));
  EXPECT_TRUE(can_cast(T::kInt64, T::kUInt8));
  EXPECT_TRUE(can_cast(T::kBool, T::kInt8));
  EXPECT_TRUE(can_cast(T::kInt64, T::kFloat16));
  EXPECT_TRUE(can_cast(T::kFloat32, T::kComplex32));
  EXPECT_FALSE(can_cast(T::kFloat32, T::kInt64));
  EXPECT_FALSE(can_cast(T::kComplex64, T::kFloat64));
  EXPECT_FALSE(can_cast(T::kInt32, T::kBool));
}

TEST(Promotion, OfTwoTensors) {
  const Tensor vector = make_tensor({2}, T::kInt32);
  EXPECT_EQ(result_type(vector, vector), T::kInt32);
  EXPECT_EQ(result_type(vector, wrapped_number(1.5)), T::kFloat32);
  EXPECT_EQ(result_type(wrapped_number(1.5), wrapped_number(2.5)), T::kFloat32);
  EXPECT_EQ(result_type(make_tensor({}, T::kFloat64), vector), T::kFloat64);
}

}  // namespace
}  // namespace opyard::shape
