#include <gtest/gtest.h>

#include <cmath>

#include "client/cli/arguments.h"
#include "client/cli/commands.h"
#include "client/cli/literal.h"
#include "opyard/base/error.h"

namespace opyard::cli {
namespace {

using client::HostTensor;
using client::OpSchema;
using client::SchemaArgument;

Literal read(const std::string& text) {
  Literal literal;
  EXPECT_TRUE(parse_literal(text, &literal)) << text;
  return literal;
}

TEST(ParseLiteral, Values) {
  EXPECT_TRUE(read("null").is_null());
  EXPECT_TRUE(read("None").is_null());
  EXPECT_TRUE(*read("True").get_if<bool>());
  EXPECT_EQ(*read("-12").get_if<int64_t>(), -12);
  EXPECT_EQ(*read("2.0").get_if<double>(), 2.0);
  EXPECT_EQ(*read("1e-3").get_if<double>(), 1e-3);
  EXPECT_TRUE(std::isnan(*read("nan").get_if<double>()));
  EXPECT_EQ(*read("-inf").get_if<double>(), -INFINITY);
  EXPECT_EQ(*read("\"a\\\"b\"").get_if<std::string>(), "a\"b");
  const Literal list = read(" [ [1, 2.5] , [] ] ");
  EXPECT_EQ(list.get_if<Literal::List>()->size(), 2u);
}

TEST(ParseLiteral, WordsAreNoLiterals) {
  Literal literal;
  EXPECT_FALSE(parse_literal("float32", &literal));
  EXPECT_FALSE(parse_literal("cuda:0", &literal));
  EXPECT_FALSE(parse_literal("", &literal));
}

TEST(ParseLiteral, BrokenOnesAreWrongUsage) {
  Literal literal;
  for (const std::string text : {"[1,2", "[1,,2]", "[1 2]", "1.2.3", "\"abc", "[1]x",
                                 "99999999999999999999", "1e999", "[{}]", "--1", "0x10"}) {
    EXPECT_THROW(parse_literal(text, &literal), UsageError) << text;
  }
  EXPECT_THROW(parse_literal(std::string(100000, '['), &literal), UsageError);
}

OpSchema schema(const std::string& name, std::vector<SchemaArgument> arguments) {
  return {name, name + "(…)", std::move(arguments), {{"", "Tensor", false, "", false, ""}}};
}
SchemaArgument arg(const std::string& name, const std::string& type, bool has_default = false,
                   bool kwarg_only = false) {
  return {name, type, has_default, "", kwarg_only, ""};
}

const std::vector<OpSchema> kAdd = {
    schema("t::add.Scalar",
           {arg("self", "Tensor"), arg("other", "Scalar"), arg("alpha", "Scalar", true)}),
    schema("t::add.Tensor",
           {arg("self", "Tensor"), arg("other", "Tensor"), arg("alpha", "Scalar", true, true)})};

TEST(BindWords, ChoosesTheOverloadWithTheFewestConversions) {
  EXPECT_EQ(bind_words(kAdd, {"[1,2]", "2"}).schema.name, "t::add.Scalar");
  EXPECT_EQ(bind_words(kAdd, {"[1,2]", "[2]"}).schema.name, "t::add.Tensor");
  EXPECT_EQ(bind_words(kAdd, {"[1,2]", "int32:2"}).schema.name, "t::add.Tensor");
  EXPECT_EQ(bind_words({kAdd[1]}, {"[1,2]", "2"}).schema.name, "t::add.Tensor");
}

TEST(BindWords, Tensors) {
  const BoundCall call = bind_words({kAdd[1]}, {"[[1,2],[3,4]]", "-2.5", "alpha=2"});
  EXPECT_EQ(call.args.at(0).get_if<HostTensor>()->sizes, (std::vector<int64_t>{2, 2}));
  // A bare number stays one: the yard makes a wrapped number of it.
  EXPECT_EQ(*call.args.at(1).get_if<double>(), -2.5);
  EXPECT_EQ(call.kwargs.at(0).name, "alpha");
  EXPECT_EQ(*call.kwargs.at(0).value.get_if<int64_t>(), 2);
}

TEST(BindWords, NamesListsAndOptionals) {
  const OpSchema full =
      schema("t::full", {arg("size", "SymInt[]"), arg("value", "Scalar"),
                         arg("dtype", "ScalarType?", true, true),
                         arg("device", "Device?", true, true), arg("mode", "str?", true, true),
                         arg("pad", "int[2]", true, true), arg("xs", "Tensor?[]", true, true)});
  const BoundCall call = bind_words({full}, {"[2,3]", "1+2j", "dtype=float64", "device=cuda:0",
                                             "mode=floor", "pad=1", "xs=[null,[1.0]]"});
  EXPECT_EQ(*call.args.at(0).get_if<std::vector<int64_t>>(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(*call.args.at(1).get_if<std::complex<double>>(), std::complex<double>(1, 2));
  EXPECT_EQ(call.kwargs.at(0).value.get_if<client::Name>()->text, "float64");
  EXPECT_EQ(call.kwargs.at(1).value.get_if<client::Name>()->text, "cuda:0");
  EXPECT_EQ(*call.kwargs.at(2).value.get_if<std::string>(), "floor");
  EXPECT_EQ(*call.kwargs.at(3).value.get_if<int64_t>(), 1);
  const auto& xs = *call.kwargs.at(4).value.get_if<client::Value::List>();
  EXPECT_TRUE(xs.at(0).is_none());
  EXPECT_TRUE(xs.at(1).get_if<HostTensor>());
}

TEST(OutputFiles, OneForEachOrNumbered) {
  using Files = std::vector<std::string>;
  EXPECT_EQ(output_files({}, 2), Files{});
  EXPECT_EQ(output_files({"a", "b.npy"}, 2), (Files{"a", "b.npy"}));
  EXPECT_EQ(output_files({"c.npy"}, 3), (Files{"c.0.npy", "c.1.npy", "c.2.npy"}));
  EXPECT_EQ(output_files({"c"}, 2), (Files{"c.0", "c.1"}));
  EXPECT_THROW(output_files({"a", "b"}, 3), Error);
  EXPECT_THROW(output_files({"a", "b"}, 1), Error);
  EXPECT_THROW(output_files({"a"}, 0), Error);
}

std::string refusal(const std::vector<OpSchema>& overloads, const std::vector<std::string>& words) {
  try {
    bind_words(overloads, words);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  ADD_FAILURE() << "taken";
  return "";
}

TEST(BindWords, SaysWhatDoesNotFit) {
  EXPECT_NE(refusal({kAdd[1]}, {"[1]"}).find("'other' (Tensor) is missing"), std::string::npos);
  EXPECT_NE(refusal({kAdd[1]}, {"[1]", "[2]", "[3]"}).find("more than 2 arguments by position"),
            std::string::npos);
  EXPECT_NE(refusal({kAdd[1]}, {"[1]", "[2]", "beta=1"}).find("no parameter 'beta'"),
            std::string::npos);
  EXPECT_NE(refusal({kAdd[1]}, {"[1]", "[2]", "self=1"}).find("given twice"), std::string::npos);
  EXPECT_NE(refusal({kAdd[1]}, {"hello", "[2]"}).find("'hello'"), std::string::npos);
  EXPECT_NE(refusal({kAdd[1]}, {"a.npy", "[2]"}).find("a file is written @a.npy"),
            std::string::npos);
  EXPECT_NE(refusal({kAdd[1]}, {"int33:[1]", "[2]"}).find("'int33' is no dtype"),
            std::string::npos);
  EXPECT_EQ(refusal({kAdd[1]}, {"hello", "[2]"}).find("dtype"), std::string::npos);
  EXPECT_NE(refusal({kAdd[1]}, {"null", "[2]"}).find("null"), std::string::npos);
  EXPECT_NE(refusal(kAdd, {"[1]", "[2]", "[3]"}).find("t::add.Scalar"), std::string::npos);
  EXPECT_THROW(bind_words(kAdd, {"[1", "2"}), UsageError);
  EXPECT_THROW(bind_words(kAdd, {"int32:[1", "2"}), UsageError);
}

}  // namespace
}  // namespace opyard::cli
