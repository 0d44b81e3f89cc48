#include "client/cpp/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "opyard/base/error.h"

namespace opyard::client {
namespace {

Element real(double value) { return {ElementKind::kReal, 0, value}; }
Element integer(int64_t value) { return {ElementKind::kInteger, value, {}}; }

// Writes one element and reads it back.
Element through(const char* dtype, const Element& element) {
  HostTensor tensor;
  tensor.dtype = dtype;
  const DtypeFacts& facts = dtype_facts(dtype);
  append_element(tensor.data, facts, element);
  EXPECT_EQ(tensor.data.size(), facts.bytes);
  return element_at(tensor, facts, 0);
}
double through_real(const char* dtype, double value) {
  return through(dtype, real(value)).number.real();
}

TEST(Elements, IntegersKeepTheirValueAndRefuseWhatDoesNotFit) {
  EXPECT_EQ(through("int8", integer(-128)).integer, -128);
  EXPECT_EQ(through("uint8", integer(255)).integer, 255);
  EXPECT_EQ(through("int64", integer(std::numeric_limits<int64_t>::min())).integer,
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(through("int32", real(7)).integer, 7);
  EXPECT_THROW(through("int8", integer(128)), Error);
  EXPECT_THROW(through("uint8", integer(-1)), Error);
  EXPECT_THROW(through("int32", real(1.5)), Error);
  EXPECT_THROW(through("int64", real(1e300)), Error);
  EXPECT_THROW(through("int64", real(NAN)), Error);
}

TEST(Elements, SixteenBitTypesRoundToNearestEven) {
  EXPECT_EQ(through_real("bfloat16", 1.0), 1.0);
  EXPECT_EQ(through_real("bfloat16", 65504.0), 65536.0);
  EXPECT_EQ(through_real("bfloat16", 1.00390625), 1.0);       // half way, to even
  EXPECT_EQ(through_real("bfloat16", 1.01171875), 1.015625);  // half way, to even
  EXPECT_EQ(through_real("float16", 65504.0), 65504.0);
  EXPECT_TRUE(std::isinf(through_real("float16", 65520.0)));
  EXPECT_EQ(through_real("float16", -0.1), -0.0999755859375);
  EXPECT_EQ(through_real("float16", 5.960464477539063e-08), 5.960464477539063e-08);
  EXPECT_TRUE(std::isnan(through_real("float16", NAN)));
  EXPECT_TRUE(std::isnan(through_real("bfloat16", NAN)));
  EXPECT_TRUE(std::isinf(through_real("bfloat16", INFINITY)));
  EXPECT_EQ(through_real("float32", 0.1), static_cast<double>(0.1F));
}

TEST(Elements, ComplexAndBool) {
  const Element element{ElementKind::kComplex, 0, {1.5, -2}};
  EXPECT_EQ(through("complex64", element).number, std::complex<double>(1.5, -2));
  EXPECT_EQ(through("complex128", real(3)).number, std::complex<double>(3, 0));
  EXPECT_THROW(through("float64", element), Error);
  EXPECT_EQ(through("bool", integer(2)).integer, 1);
  EXPECT_EQ(through("bool", real(0)).integer, 0);
}

TEST(Elements, Counts) {
  EXPECT_EQ(element_count({}), 1u);
  EXPECT_EQ(element_count({2, 3}), 6u);
  EXPECT_EQ(element_count({int64_t{1} << 39, 0}), 0u);
  EXPECT_THROW(element_count({-1}), Error);
  EXPECT_THROW(element_count({int64_t{1} << 30, int64_t{1} << 30}), Error);
}

TEST(Elements, Names) {
  EXPECT_EQ(find_dtype("long")->name, "int64");
  EXPECT_EQ(find_dtype("float33"), nullptr);
  EXPECT_THROW(dtype_facts("float33"), Error);
}

}  // namespace
}  // namespace opyard::client
