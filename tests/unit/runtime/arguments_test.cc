// One value against one parameter.
#include "opyard/runtime/arguments.h"

#include <gtest/gtest.h>

#include "opyard/base/error.h"

namespace opyard::runtime {
namespace {

Argument parameter(const std::string& type) {
  return parse_schema("test::f(" + type + " p) -> ()").arguments[0];
}

// What becomes of a value, as text; the code's name when it is refused.
std::string fitted(const std::string& type, IValue value) {
  try {
    return describe(fit_value(parameter(type), std::move(value)));
  } catch (const CallError& error) {
    EXPECT_EQ(error.argument(), "p");
    return std::string(code_name(error.code()));
  }
}

const IValue kInts = std::vector<int64_t>{1, 2};
const IValue kNothing = IValue::list({});

TEST(FitValueTest, Scalars) {
  EXPECT_EQ(fitted("int", 3), "int 3");
  EXPECT_EQ(fitted("int", 3.0), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("int", true), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("SymInt", 3), "int 3");
  EXPECT_EQ(fitted("float", 3), "float 3.0");
  EXPECT_EQ(fitted("bool", true), "bool True");
  EXPECT_EQ(fitted("bool", 1), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("Scalar", true), "bool True");
  EXPECT_EQ(fitted("Scalar", "x"), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("str", "x"), "str 'x'");
}

TEST(FitValueTest, NoneFitsOptionalOnesOnly) {
  EXPECT_EQ(fitted("int?", IValue()), "None");
  EXPECT_EQ(fitted("int", IValue()), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("Tensor?", IValue()), "None");
  EXPECT_EQ(fitted("Tensor", IValue()), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("Tensor", Tensor()), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("int[]?", IValue()), "None");
  EXPECT_EQ(fitted("int[]", IValue()), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("Generator?", IValue()), "None");
}

TEST(FitValueTest, NamesOfKinds) {
  EXPECT_EQ(fit_value(parameter("ScalarType"), "int64").to_dtype(), ScalarType::kInt64);
  EXPECT_EQ(fit_value(parameter("ScalarType?"), 6).to_dtype(), ScalarType::kFloat32);
  EXPECT_EQ(fitted("ScalarType", "int65"), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("ScalarType", 99), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("ScalarType", 2.5), "INVALID_ARGUMENT");
  EXPECT_TRUE(fit_value(parameter("Device"), "cpu").to_device().is_cpu());
  EXPECT_EQ(fitted("Device", "nowhere"), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("Device", "cpu:x"), "INVALID_ARGUMENT");
  EXPECT_EQ(fit_value(parameter("MemoryFormat"), "preserve_format").to_memory_format(),
            MemoryFormat::kPreserve);
  EXPECT_EQ(fitted("Layout", "flat"), "INVALID_ARGUMENT");
}

TEST(FitValueTest, LongTextsAreQuotedInPart) {
  for (const char* type : {"Device", "ScalarType", "Layout", "MemoryFormat", "int"}) {
    try {
      fit_value(parameter(type), std::string(65536, 'x'));
      ADD_FAILURE() << type << " took it";
    } catch (const CallError& error) {
      EXPECT_EQ(error.argument(), "p");
      EXPECT_LT(error.message().size(), 256u) << type;
    }
  }
}

TEST(FitValueTest, Lists) {
  EXPECT_EQ(fitted("int[]", kInts), "list of 2 int");
  EXPECT_EQ(fitted("int[]", kNothing), "list of 0 int");
  EXPECT_EQ(fitted("int[2]", 5), "list of 2 int");
  EXPECT_EQ(fitted("int[]", 5), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("float[]", kInts), "list of 2 float");
  EXPECT_EQ(fitted("bool[]", kInts), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("Scalar[]", kInts), "list of 2 values");
  EXPECT_EQ(fitted("Tensor[]", kInts), "list of 2 Tensor") << "numbers become wrapped numbers";
  EXPECT_EQ(fitted("int[]", "x"), "INVALID_ARGUMENT");
  const IValue mixed = IValue::list({IValue(1), IValue("x")});
  EXPECT_EQ(fitted("int[]", mixed), "INVALID_ARGUMENT");
  EXPECT_EQ(fitted("Tensor?[]", IValue::list({IValue(), IValue(1)})), "list of 2 values");
}

TEST(FitValueTest, WrappedNumbersSayThatTheyAre) {
  const IValue fit = fit_value(parameter("Tensor"), 2.5);
  EXPECT_TRUE(fit.to_tensor().is_wrapped_number());
  EXPECT_EQ(fit.to_tensor().dim(), 0);
}

}  // namespace
}  // namespace opyard::runtime
