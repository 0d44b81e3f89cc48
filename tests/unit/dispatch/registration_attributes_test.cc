// Tags and alias-analysis kinds, in C++ and in the C record, and how dumps show them.

#include "registration_support.h"

namespace opyard {
namespace {

using namespace testing;
using enum DispatchKey;

Tensor first(const Tensor& x) { return x; }

struct AttributesTest : RegistrationFixture {
  std::string refused(const std::function<void(Library&)>& fill) {
    return error_of([&] { block(BlockKind::kDef, "t", "", fill); }, Code::kInvalidArgument);
  }
};

TEST_F(AttributesTest, ADefinitionCarriesTagsAndKindInAnyOrder) {
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("plain(Tensor x) -> Tensor");
    m.def("tagged(Tensor x) -> Tensor", Tags{"pointwise", "core"});
    m.def("pure(Tensor x) -> Tensor", AliasAnalysis::kPureFunction, OPYARD_FN(first), Tags{"core"});
    m.def("inferred", OPYARD_FN(first));
    m.def("chosen", OPYARD_FN(first), AliasAnalysis::kFromSchema);
  });
  const auto of = [&](std::string_view name) { return dispatcher.get(name).attributes(); };
  EXPECT_EQ(of("t::plain"), Attributes());
  EXPECT_EQ(of("t::tagged").tags, (std::vector<std::string>{"core", "pointwise"}));
  EXPECT_TRUE(of("t::tagged").has_tag("core"));
  EXPECT_FALSE(of("t::tagged").has_tag("point"));
  EXPECT_EQ(of("t::pure"), (Attributes{{"core"}, AliasAnalysis::kPureFunction, true}));
  EXPECT_EQ(of("t::inferred").alias_analysis, AliasAnalysis::kConservative);
  EXPECT_EQ(of("t::chosen"), (Attributes{{}, AliasAnalysis::kFromSchema, true}));
  EXPECT_EQ(stack("t::pure", "CompositeImplicitAutograd").size(), 1u);
}

TEST_F(AttributesTest, DumpsShowThemInTheReferencesForm) {
  const std::string place =
      std::string("registered at ") + __FILE__ + ":" + std::to_string(__LINE__ + 2);
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> Tensor", Tags{"core", "pointwise"}).def("g", OPYARD_FN(first));
  });
  auto kernels = block(BlockKind::kImpl, "t", "", [](Library& m) {
    m.impl("f", CompositeExplicitAutograd, OPYARD_FN(first)).label("composite");
    m.impl("f", QuantizedCPU, OPYARD_FN(first)).label("quantized");
    m.impl("f", CPU, OPYARD_FN(first)).label("older");
    m.override_impl("f", CPU, OPYARD_FN(first)).label("newer");
    m.impl("f", Tracer, Fallthrough{}).label("skips");
    m.impl("f", Autograd, BoxedKernel{&answer}).label("boxed");
    m.impl("f", Vulkan, OPYARD_FN(first)).label("vulkan");
  });
  const std::string inferred = " :: (Tensor _0) -> (Tensor _0) [ boxed unboxed ]\n";
  EXPECT_EQ(dispatcher.dump_state("t::f"),
            "name: t::f\nschema: t::f(Tensor x) -> Tensor\ndebug: " + place +
                "\nalias analysis kind: FROM_SCHEMA (default)\ntags: core, pointwise\n"
                "Vulkan: vulkan" +
                inferred +
                "Tracer: skips :: (none) [ fallthrough boxed ]\n"
                "CPU: newer" +
                inferred + "CPU (inactive): older" + inferred + "QuantizedCPU: quantized" +
                inferred +
                "Autograd[alias]: boxed :: (none) [ boxed ]\n"
                "CompositeExplicitAutograd[alias]: composite" +
                inferred);
  EXPECT_TRUE(contains(dispatcher.dump_state("t::g"), "kind: CONSERVATIVE (default)\n"));
}

TEST_F(AttributesTest, AKernelAloneHasNoDefinitionInTheDump) {
  auto impl = block(BlockKind::kImpl, "t", "DefaultBackend",
                    [](Library& m) { m.impl("f", OPYARD_FN(first)).label("here"); });
  EXPECT_EQ(dispatcher.dump_state("t::f"),
            "name: t::f\nschema: (none)\nCompositeExplicitAutograd[alias]: here :: (Tensor _0) -> "
            "(Tensor _0) [ boxed unboxed ]\n");
}

TEST_F(AttributesTest, TheComputedTableNamesEverySlotThatIsServed) {
  Dispatcher bare(false);
  auto def = bare.register_block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> Tensor");
    m.impl("f", CompositeImplicitAutograd, OPYARD_FN(first)).label("math");
    m.impl("f", FPGA, OPYARD_FN(first)).label("fpga");
    m.impl("f", Tracer, Fallthrough{}).label("skip");
  });
  const std::string table = bare.dump_computed_table(bare.get("t::f"));
  EXPECT_TRUE(table.starts_with("Undefined: math [math kernel]\n")) << table;
  EXPECT_TRUE(contains(table, "\nFPGA: fpga [kernel]\n"));
  EXPECT_TRUE(contains(table, "\nTracer: fallthrough skip [kernel]\n"));
  EXPECT_TRUE(
      contains(table, "\nAutogradOther: ambiguous_autogradother [ambiguous autogradother]\n"));
  EXPECT_FALSE(contains(table, "missing"));
  EXPECT_FALSE(contains(table, "BackendSelect"));
}

TEST_F(AttributesTest, KindsThatContradictTheSchemaAreRefused) {
  for (const AliasAnalysis kind : {AliasAnalysis::kPureFunction, AliasAnalysis::kConservative}) {
    const std::string message =
        refused([&](Library& m) { m.def("f(Tensor(a!) x) -> Tensor(a!)", kind); });
    EXPECT_TRUE(contains(message, to_string(kind))) << message;
    EXPECT_TRUE(contains(message, "Tensor(a!)")) << message;
  }
  auto def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor(a!) x) -> Tensor(a!)", AliasAnalysis::kFromSchema);
  });
}

TEST_F(AttributesTest, TagsAreNames) {
  const auto with = [&](std::string_view tag) {
    return refused([&](Library& m) { m.def("f(Tensor x) -> Tensor", Tags{tag}); });
  };
  EXPECT_TRUE(contains(with("two words"), "'two words'"));
  EXPECT_TRUE(contains(with("Capital"), "small letters"));
  EXPECT_TRUE(contains(with(""), "a tag is a name"));
  EXPECT_TRUE(contains(with(std::string(65, 'a')), "at most 64"));
  std::string many = "a";
  for (int i = 0; i < 32; ++i) many += ",a" + std::to_string(i);
  EXPECT_TRUE(contains(with(many), "more than 32"));
}

// What a plugin in C hands over.
struct CRecord : AttributesTest {
  CRecord() {
    record.struct_size = sizeof(record);
    record.kind = OPYARD_REGISTER_DEF;
    record.text = text("f(Tensor x) -> Tensor");
    block.struct_size = sizeof(block);
    block.kind = OPYARD_BLOCK_DEF;
    block.name_space = text("c");
    block.registrations = &record;
    block.count = 1;
  }
  static opyard_str text(std::string_view text) {
    return {text.data(), static_cast<uint32_t>(text.size()), 0};
  }
  opyard_registration record{};
  opyard_block block{};
};

TEST_F(CRecord, ItsFieldsAreRead) {
  record.tags = text("pointwise, core,core");
  record.alias_analysis = OPYARD_ALIAS_PURE_FUNCTION;
  const auto def = dispatcher.register_blocks(block, Origin{"c", 1});
  EXPECT_EQ(dispatcher.get("c::f").attributes(),
            (Attributes{{"core", "pointwise"}, AliasAnalysis::kPureFunction, true}));
}

TEST_F(CRecord, UnknownKindsAndMisplacedTagsAreRefused) {
  const auto message = [&] {
    return error_of([&] { dispatcher.register_blocks(block); }, Code::kInvalidArgument);
  };
  record.alias_analysis = 4;
  EXPECT_TRUE(contains(message(), "unknown alias analysis kind 4"));
  record.alias_analysis = 0;
  record.tags = text("core");
  record.kind = OPYARD_REGISTER_IMPL;
  record.text = text("f");
  EXPECT_TRUE(contains(message(), "belong to a definition"));
}

}  // namespace
}  // namespace opyard
