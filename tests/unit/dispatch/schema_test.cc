#include "opyard/dispatch/schema.h"

#include <gtest/gtest.h>

#include <fstream>

namespace opyard {
namespace {

FunctionSchema round_trip(const std::string& text) {
  FunctionSchema schema = parse_schema(text);
  EXPECT_EQ(to_string(schema), text);
  return schema;
}

TEST(Schema, EveryCoreAtenSchemaPrintsAsItWasRead) {
  std::ifstream file(OPYARD_CORE_ATEN_SCHEMAS);
  ASSERT_TRUE(file.is_open());
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    ++lines;
    round_trip(line);
    round_trip("aten::" + line);
  }
  EXPECT_GT(lines, 180);
}

TEST(Schema, Parts) {
  const FunctionSchema schema =
      round_trip("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(schema.name, "aten::add");
  EXPECT_EQ(schema.overload, "Tensor");
  EXPECT_EQ(schema.full_name(), "aten::add.Tensor");
  EXPECT_EQ(schema.name_space(), "aten");
  ASSERT_EQ(schema.arguments.size(), 3u);
  EXPECT_FALSE(schema.arguments[1].kwarg_only);
  EXPECT_TRUE(schema.arguments[2].kwarg_only);
  EXPECT_EQ(schema.arguments[2].default_value->to_int(), 1);
  EXPECT_EQ(schema.argument_index("alpha"), 2);
  EXPECT_EQ(schema.argument_index("beta"), -1);
  EXPECT_FALSE(schema.returns_tuple_text);
  EXPECT_EQ(schema.returns[0].type, SchemaType{BaseType::kTensor});
}

TEST(Schema, WithoutNamespaceAndWithoutArguments) {
  const FunctionSchema schema = round_trip("noop() -> ()");
  EXPECT_EQ(schema.name_space(), "");
  EXPECT_EQ(schema.full_name(), "noop");
  EXPECT_TRUE(schema.arguments.empty());
  EXPECT_TRUE(schema.returns.empty());
}

TEST(Schema, Types) {
  const FunctionSchema schema = round_trip(
      "t::f(Tensor? a, Tensor[] b, Tensor?[] c, int[2] d, int[2]? e, SymInt[] f, float[]? g, "
      "bool[3] h, str? i, Generator? j, Scalar[] k, Tensor[]? l) -> Tensor[]");
  const auto type = [&](const char* name) {
    return schema.arguments[static_cast<size_t>(schema.argument_index(name))].type;
  };
  EXPECT_EQ(type("a"), (SchemaType{BaseType::kTensor, true}));
  EXPECT_TRUE(type("a").is_optional());
  EXPECT_EQ(type("b"), (SchemaType{BaseType::kTensor, false, true}));
  EXPECT_EQ(type("c"), (SchemaType{BaseType::kTensor, true, true}));
  EXPECT_FALSE(type("c").is_optional());
  EXPECT_EQ(type("d"), (SchemaType{BaseType::kInt, false, true, 2}));
  EXPECT_EQ(type("e"), (SchemaType{BaseType::kInt, false, true, 2, true}));
  EXPECT_TRUE(type("e").is_optional());
  EXPECT_EQ(type("f").base, BaseType::kSymInt);
  EXPECT_EQ(to_string(type("g")), "float[]?");
  EXPECT_EQ(to_string(type("h")), "bool[3]");
  EXPECT_EQ(schema.returns[0].type, (SchemaType{BaseType::kTensor, false, true}));
}

TEST(Schema, TypesNest) {
  const FunctionSchema schema = round_trip(
      "t::f(int[][] a, Tensor?[2][]? b, int[]?[] c, Dict(str, Tensor) d, Dict(int, float[])? e, "
      "Dict(str, Dict(int, str)?[])[] f, Tensor(a!)[][] g, Dict(str, Tensor)(b!) h, int[][] i=[]) "
      "-> (Dict(str, Tensor[]), int[][] rows)");
  const auto& types = schema.arguments;
  EXPECT_EQ(types[0].type.base, BaseType::kList);
  EXPECT_EQ(to_string(types[0].type.inner.at(0)), "int[]");
  EXPECT_TRUE(types[1].type.list_optional);
  EXPECT_EQ(to_string(types[1].type.inner.at(0)), "Tensor?[2]");
  EXPECT_TRUE(types[2].type.inner.at(0).list_optional);
  EXPECT_EQ(to_string(types[3].type.inner.at(1)), "Tensor");
  EXPECT_TRUE(types[4].type.is_optional());
  EXPECT_TRUE(types[6].alias->is_write);
  EXPECT_TRUE(types[7].alias->is_write);
  const auto difference = [](const std::string& a, const std::string& b) {
    return schema_difference(parse_schema("t::f(" + a + " x) -> ()"),
                             parse_schema("t::f(" + b + " x) -> ()"));
  };
  EXPECT_FALSE(difference("SymInt[][]", "int[][]"));
  EXPECT_TRUE(difference("int[][]", "int[]"));
  EXPECT_TRUE(difference("int[][]", "float[][]"));
  EXPECT_FALSE(difference("Dict(str, SymInt)", "Dict(str, int)"));
  EXPECT_TRUE(difference("Dict(str, int)", "Dict(int, int)"));
}

TEST(Schema, DefaultsKeepTheirSpelling) {
  const FunctionSchema schema = round_trip(
      "t::f(int a=-1, float b=1e-05, float c=2, Scalar d=0.01, bool e=True, str f='no\\'ne', "
      "str g=\"x, y)\", int[] h=[], int[2] i=[1, 1], int[3] j=0, Tensor? k=None, int "
      "reduction=Mean, "
      "ScalarType? l=long, MemoryFormat m=contiguous_format, Device n=cuda:0, Layout o=strided, "
      "bool[2] p=[True,False], float[2] q=[0.5, 1], Scalar r=True, float s=inf, "
      "ScalarType t=float32) -> ()");
  const auto value = [&](const char* name) {
    return *schema.arguments[static_cast<size_t>(schema.argument_index(name))].default_value;
  };
  EXPECT_EQ(value("a").to_int(), -1);
  EXPECT_DOUBLE_EQ(value("b").to_double(), 1e-05);
  EXPECT_TRUE(value("c").is(Tag::kDouble));
  EXPECT_DOUBLE_EQ(value("d").to_double(), 0.01);
  EXPECT_TRUE(value("e").to_bool());
  EXPECT_EQ(value("f").to_string_view(), "no'ne");
  EXPECT_EQ(value("g").to_string_view(), "x, y)");
  EXPECT_EQ(value("h").to_int_list().size(), 0u);
  EXPECT_EQ(value("i").to_int_list().vec(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(value("j").to_int_list().vec(), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_TRUE(value("k").is_none());
  EXPECT_EQ(value("reduction").to_int(), 1);
  EXPECT_EQ(value("l").to_dtype(), ScalarType::kInt64);
  EXPECT_EQ(value("m").to_memory_format(), MemoryFormat::kContiguous);
  EXPECT_EQ(value("n").to_device(), Device(Backend::kCUDA, 0));
  EXPECT_EQ(value("o").to_layout(), Layout::kStrided);
  EXPECT_TRUE(value("p").to_bool_list()[0]);
  EXPECT_FALSE(value("p").to_bool_list()[1]);
  EXPECT_DOUBLE_EQ(value("q").to_double_list()[1], 1.0);
  EXPECT_TRUE(value("r").is(Tag::kBool));
  EXPECT_GT(value("s").to_double(), 1e308);
  EXPECT_EQ(value("t").to_dtype(), ScalarType::kFloat32);
}

TEST(Schema, BlanksAndLineBreaksAreNormalised) {
  EXPECT_EQ(to_string(parse_schema("t::f( Tensor  self ,\n * , int  dim = -1 )\t->  Tensor ")),
            "t::f(Tensor self, *, int dim=-1) -> Tensor");
}

TEST(Schema, AliasAnnotations) {
  const FunctionSchema view = round_trip("t::view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
  EXPECT_TRUE(view.is_view());
  EXPECT_FALSE(view.is_mutable());
  const FunctionSchema split = round_trip("t::split(Tensor(a -> *) self, int n) -> Tensor(a)[]");
  EXPECT_TRUE(split.is_view());
  EXPECT_TRUE(split.arguments[0].alias->has_arrow);
  EXPECT_EQ(split.arguments[0].alias->after, std::vector<std::string>{"*"});
  const FunctionSchema in_place =
      round_trip("t::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  EXPECT_TRUE(in_place.is_inplace());
  EXPECT_TRUE(in_place.is_mutable());
  EXPECT_FALSE(in_place.is_view());
  EXPECT_EQ(in_place.num_out_arguments(), 0u);
  const FunctionSchema several =
      round_trip("t::f(Tensor(a|b! -> c|*) x, Tensor(c!)[] y, Tensor(d)? z) -> (Tensor(a|b) u)");
  EXPECT_EQ(several.arguments[0].alias->before, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(several.arguments[1].alias->is_write);
  EXPECT_TRUE(several.arguments[1].type.is_list);
  EXPECT_TRUE(several.returns_tuple_text);
}

TEST(Schema, OutArguments) {
  EXPECT_EQ(
      round_trip("t::f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)").num_out_arguments(), 1u);
  EXPECT_EQ(round_trip("t::g.out(Tensor self, *, Tensor(a!) max, Tensor(b!) max_values) -> "
                       "(Tensor(a!) values, Tensor(b!) indices)")
                .num_out_arguments(),
            2u);
  // Written to, but not returned.
  EXPECT_EQ(round_trip("t::h(Tensor self, *, Tensor(a!) out) -> Tensor").num_out_arguments(), 0u);
  EXPECT_FALSE(parse_schema("t::h(Tensor self, *, Tensor(a!) out) -> Tensor(a!)").is_inplace());
}

TEST(Schema, SeveralReturnsAndDots) {
  const FunctionSchema sort = round_trip("t::sort(Tensor self) -> (Tensor values, Tensor indices)");
  EXPECT_EQ(sort.returns[1].name, "indices");
  EXPECT_TRUE(round_trip("t::f(Tensor self, ...) -> ...").is_vararg);
  EXPECT_TRUE(round_trip("t::f(...) -> (Tensor, ...)").is_varret);
  EXPECT_EQ(round_trip("t::f(Tensor self) -> (Tensor)").returns.size(), 1u);
}

TEST(Schema, OperatorNames) {
  EXPECT_EQ(parse_operator_name("aten::add.Tensor"), (OperatorName{"aten::add", "Tensor"}));
  EXPECT_EQ(parse_operator_name("aten::add").full(), "aten::add");
  EXPECT_EQ(parse_operator_name("add.out").full(), "add.out");
  EXPECT_EQ(parse_operator_name("a::b::c").name, "a::b::c");
}

TEST(Schema, DifferenceComparesCountsAndTypesOnly) {
  const FunctionSchema declared =
      parse_schema("t::f(Tensor(a) x, SymInt[2] n, int? dim=None) -> Tensor(a)");
  EXPECT_FALSE(schema_difference(declared, parse_schema("_(Tensor a, int[] b, int? c) -> Tensor")));
  EXPECT_EQ(*schema_difference(declared, parse_schema("_(Tensor a) -> Tensor")),
            "The number of arguments is different. 3 vs 1.");
  EXPECT_EQ(*schema_difference(declared, parse_schema("_(Tensor a, int[] b, int c) -> Tensor")),
            "Type mismatch in argument 3: int? vs int.");
  EXPECT_EQ(*schema_difference(declared, parse_schema("_(Tensor a, int[] b, int? c) -> ()")),
            "The number of returns is different. 1 vs 0.");
  EXPECT_EQ(*schema_difference(declared, parse_schema("_(Tensor a, int[] b, int? c) -> int")),
            "Type mismatch in return 1: Tensor vs int.");
}

}  // namespace
}  // namespace opyard
