#include "client/local/check_ops.h"

#include <gtest/gtest.h>

#include <sstream>

#include "case_file.h"
#include "client/local/local_transport.h"

namespace opyard::client {
namespace {

class CheckOps : public testing::Test {
 protected:
  // Runs one case, written without its leading "- ".
  std::string run_case(const std::string& text) {
    const CaseFile file("cases:\n  - {" + text + "}\n");
    std::ostringstream out;
    const CheckResult result = check_ops_file(file.path(), yard_, "cpu", out);
    EXPECT_EQ(result.passed + result.failed, 1u);
    EXPECT_EQ(result.failed == 0, out.str().find("FAILED") == std::string::npos) << out.str();
    return out.str();
  }
  void expect_passed(const std::string& text) { EXPECT_EQ(run_case(text), "") << text; }
  void expect_failed(const std::string& text, const std::string& words) {
    const std::string told = run_case(text);
    EXPECT_NE(told.find("FAILED"), std::string::npos) << text;
    EXPECT_NE(told.find(words), std::string::npos) << told;
  }

  Client yard_{make_local_transport()};
};

const std::string kAdd = "op: aten::add.Tensor, args: [{tensor: [1, 2]}, {tensor: 2.5}], ";

TEST_F(CheckOps, ResultsAreCompared) {
  expect_passed(kAdd + "kwargs: {alpha: 2}, returns: [{tensor: [6, 7], shape: [2], strides: [1]}]");
  expect_passed(kAdd + "returns: [any]");
  expect_passed(kAdd + "returns: [{shape: [2], dtype: float32}], repeat: 3");
  expect_failed(kAdd + "returns: [{tensor: [3.5, 4.6]}]", "element 1");
  expect_passed(kAdd + "returns: [{tensor: [3.5, 4.6]}], rtol: 0.1");
  expect_failed(kAdd + "returns: [{tensor: [3.5, 4.5], dtype: float64}]", "dtype");
  expect_failed(kAdd + "returns: [{tensor: [3.5]}]", "shape");
  expect_failed(kAdd + "returns: [{tensor: [3.5, 4.5], strides: [2]}]", "strides");
  expect_failed(kAdd + "returns: []", "1 results, wanted 0");
  expect_failed(kAdd + "returns: [null]", "wanted something else");
  expect_failed(kAdd + "source: none", "neither returns nor error");
}

TEST_F(CheckOps, NanEqualsNanAndInfinityItself) {
  const std::string op = "op: aten::neg, args: [{tensor: [nan, -inf]}], ";
  expect_passed(op + "returns: [{tensor: [nan, inf]}]");
  expect_failed(op + "returns: [{tensor: [nan, -inf]}]", "element 1");
  expect_failed(op + "returns: [{tensor: [0, inf]}]", "element 0");
}

TEST_F(CheckOps, IntegersCompareExactly) {
  const std::string op = "op: aten::neg, args: [{tensor: [9007199254740993], dtype: int64}], ";
  expect_passed(op + "returns: [{tensor: [-9007199254740993], dtype: int64}]");
  expect_failed(op + "returns: [{tensor: [-9007199254740992], dtype: int64}], rtol: 1.0",
                "element 0");
}

TEST_F(CheckOps, InputsAreBuiltAsWritten) {
  const std::string returns = "returns: [{tensor: ";
  expect_passed("op: aten::neg, args: [{shape: [2, 3], arange: true, transpose: [0, 1]}], " +
                returns + "[[0, -3], [-1, -4], [-2, -5]]}]");
  expect_passed("op: aten::neg, args: [{tensor: [1, 2, 3, 4], slice: [0, 1, 4, 2]}], " + returns +
                "[-2, -4]}]");
  expect_passed("op: aten::neg, args: [{tensor: [[1], [2]], expand: [2, 2]}], " + returns +
                "[[-1, -1], [-2, -2]]}]");
  expect_passed(
      "op: aten::add.Tensor, args: [{tensor: [1, 2], dtype: int64}, {tensor: 2, dtype: int64, "
      "wrapped: true}], returns: [{tensor: [3, 4], dtype: int64}]");
  expect_passed("op: aten::cat, args: [[{tensor: [1]}, {shape: [1], fill: 2}]], " + returns +
                "[1, 2]}]");
  expect_passed(
      "op: aten::add.Tensor, args: [{tensor: [1, 2]}, {same_as: 0, slice: [0, 0, 1, 1]}], " +
      returns + "[2, 3]}]");
  expect_failed("op: aten::neg, args: [{same_as: 3}], returns: [any]", "same_as");
}

TEST_F(CheckOps, ErrorsAndTheirCodes) {
  const std::string bad = "op: aten::mm, args: [{tensor: [1]}, {tensor: [1]}], ";
  expect_passed(bad + "error: \"mm|dim\", code: INVALID_ARGUMENT");
  expect_failed(bad + "code: NOT_FOUND", "wanted the code NOT_FOUND");
  expect_failed(bad + "error: \"quite other words\"", "wanted an error that matches");
  expect_failed(kAdd + "error: \".\"", "succeeded");
  expect_failed("op: aten::no_such_operator, args: [], error: \".\"", "no operator");
}

TEST_F(CheckOps, MutatedArguments) {
  const std::string op =
      "op: aten::add_.Tensor, args: [{tensor: [1, 2]}, {tensor: [1, 1]}], mutates: [0], ";
  expect_passed(op + "after: [{tensor: [2, 3]}]");
  expect_failed(op + "after: [{tensor: [1, 2]}]", "argument 0 afterwards");
  expect_failed(op + "after: []", "differ in length");
  expect_passed(
      "op: aten::add.out, args: [{tensor: [1]}, {tensor: [1]}], kwargs: {out: {tensor: [0]}}, "
      "returns: [{tensor: [2]}], mutates: [out], after: [{tensor: [2]}]");
}

}  // namespace
}  // namespace opyard::client
