#include <gtest/gtest.h>

#include "opyard/base/error.h"
#include "opyard/dispatch/schema.h"

namespace opyard {
namespace {

struct BadSchema {
  const char* text;
  const char* words;  // what the message must say
};

void expect_refused(const std::string& text, const std::string& words) {
  try {
    parse_schema(text);
    ADD_FAILURE() << "taken: " << text.substr(0, 200);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
  }
}

class Refused : public testing::TestWithParam<BadSchema> {};

TEST_P(Refused, SaysWhereAndWhy) { expect_refused(GetParam().text, GetParam().words); }

INSTANTIATE_TEST_SUITE_P(
    Schema, Refused,
    testing::Values(
        BadSchema{"", "position 0: got the end of the text, wanted the operator's name"},
        BadSchema{"t::", "wanted a name behind '::'"}, BadSchema{"t::f", "wanted '('"},
        BadSchema{"t::f(Tensor x)", "wanted '->'"},
        BadSchema{"t::f(Tensor x) -> Tensor y z", "wanted the end of the schema"},
        BadSchema{"t::f(Tensr x) -> Tensor", "got 'Tensr', wanted a type"},
        BadSchema{"t::f(Tensor) -> Tensor", "wanted the argument's name"},
        BadSchema{"t::f(Tensor x,) -> Tensor", "wanted a type"},
        BadSchema{"t::f(Tensor x Tensor y) -> Tensor", "position 14"},
        BadSchema{"t::f(Tensor x, Tensor x) -> Tensor", "'x' stands twice"},
        BadSchema{"t::f(Tensor x, *) -> Tensor", "wanted ','"},
        BadSchema{"t::f(Tensor x, *, *, int n) -> Tensor", "'*' stands twice"},
        BadSchema{"t::f(..., Tensor x) -> Tensor", "')' behind '...'"},
        BadSchema{"t::f(int n=1, Tensor x) -> Tensor", "'x' needs a default"},
        BadSchema{"t::f(int n=1.5) -> ()", "got '1.5', wanted a 64-bit integer"},
        BadSchema{"t::f(int n=99999999999999999999) -> ()", "64-bit integer"},
        BadSchema{"t::f(int n=) -> ()", "wanted a 64-bit integer"},
        BadSchema{"t::f(int n=None) -> ()", "None is no default of int"},
        BadSchema{"t::f(float p=x) -> ()", "wanted a number"},
        BadSchema{"t::f(bool b=1) -> ()", "wanted True or False"},
        BadSchema{"t::f(str s='abc) -> ()", "no closing quote"},
        BadSchema{"t::f(str s='a\\q') -> ()", "escapes"},
        BadSchema{"t::f(str s=abc) -> ()", "wanted a quoted string"},
        BadSchema{"t::f(Tensor x=1) -> ()", "no default"},
        BadSchema{"t::f(ScalarType d=float23) -> ()", "names no ScalarType"},
        BadSchema{"t::f(Device d=moon) -> ()", "no device"},
        BadSchema{"t::f(int[2] n=[1, 2, 3]) -> ()", "got 3 values, wanted 2"},
        BadSchema{"t::f(int[] n=1) -> ()", "wanted '['"},
        BadSchema{"t::f(int[] n=[1) -> ()", "wanted ','"},
        BadSchema{"t::f(int[0] n) -> ()", "at least one element"},
        BadSchema{"t::f(int[99999999999] n) -> ()", "too large"},
        BadSchema{"t::f(int[1000000] n=0) -> ()", "at most 64"},
        BadSchema{"t::f(int[][] n=[[1]]) -> ()", "no default: a List"},
        BadSchema{"t::f(int[][][][][][][][][] n) -> ()", "at most 8 deep"},
        BadSchema{"t::f(Dict n) -> ()", "wanted '('"},
        BadSchema{"t::f(Dict(str) n) -> ()", "wanted ','"},
        BadSchema{"t::f(Dict(Tensor, int) n) -> ()", "wanted int, float, bool or str as the keys"},
        BadSchema{"t::f(Dict(int?, int) n) -> ()", "got int?, wanted int"},
        BadSchema{"t::f(Dict(int, Tensor(a)) n) -> ()", "inside of a Dict"},
        BadSchema{"t::f(int(a) n) -> ()", "takes no alias annotation"},
        BadSchema{"t::f(Tensor(a x) -> ()", "wanted ')'"},
        BadSchema{"t::f(Tensor() x) -> ()", "alias set"},
        BadSchema{"t::f.default(Tensor x) -> Tensor", "'default' is not a legal overload name"},
        BadSchema{"t::f.__x__(Tensor x) -> Tensor", "'__x__' is not a legal overload name"},
        BadSchema{"t::1f(Tensor x) -> Tensor", "behind '::'"}));

TEST(SchemaLimits, SixtyFourArguments) {
  std::string arguments = "Tensor a0";
  for (int i = 1; i < 64; ++i) arguments += ", Tensor a" + std::to_string(i);
  EXPECT_EQ(parse_schema("t::f(" + arguments + ") -> ()").arguments.size(), 64u);
  expect_refused("t::f(" + arguments + ", Tensor one_more) -> ()", "more than 64 arguments");
}

TEST(SchemaLimits, SixtyFourReturns) {
  std::string returns = "Tensor";
  for (int i = 1; i < 64; ++i) returns += ", Tensor";
  EXPECT_EQ(parse_schema("t::f() -> (" + returns + ")").returns.size(), 64u);
  expect_refused("t::f() -> (" + returns + ", Tensor)", "at most 64 returns");
}

TEST(SchemaLimits, TextAndDepth) {
  expect_refused("t::f(" + std::string(64 << 10, ' ') + ") -> ()", "at most 65536");
  expect_refused("t::f(Tensor(" + std::string(60000, '(') + " x) -> ()", "alias set");
  expect_refused("t::f(int[] n=" + std::string(60000, '[') + ") -> ()", "64-bit integer");
  std::string dicts;
  for (int i = 0; i < 5000; ++i) dicts += "Dict(int, ";
  expect_refused("t::f(" + dicts + ") -> ()", "at most 8 deep");
  std::string lists = "t::f(int";
  for (int i = 0; i < 20000; ++i) lists += "[]";
  expect_refused(lists + " n) -> ()", "at most 8 deep");
  expect_refused(std::string("t::f\0(Tensor x) -> Tensor", 26), "zero byte");
  std::string sets = "a";
  for (int i = 0; i < 64; ++i) sets += "|a";
  expect_refused("t::f(Tensor(" + sets + ") x) -> ()", "at most 64 alias sets");
}

TEST(SchemaNames, AreRefusedLikeSchemas) {
  EXPECT_THROW(parse_operator_name("aten::add.default"), Error);
  EXPECT_THROW(parse_operator_name("aten::add.__add__"), Error);
  EXPECT_THROW(parse_operator_name("aten::add."), Error);
  EXPECT_THROW(parse_operator_name("aten::add Tensor"), Error);
  EXPECT_THROW(parse_operator_name(""), Error);
}

}  // namespace
}  // namespace opyard
