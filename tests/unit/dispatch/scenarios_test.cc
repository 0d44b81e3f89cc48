#include "scenario.h"

#include <algorithm>
#include <map>

namespace opyard {
namespace {

// The same as another function.
void record_too(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                uint32_t n_out) {
  record(kernel, keys, in, n_in, out, n_out);
}

Tensor identity(const Tensor& x) { return x; }
Tensor identity_with_keys(Keys, const Tensor& x) { return x; }

// Registers steps in every order and takes them away in every order: what is dumped must depend on
// the live ones alone, and nothing may remain.
void expect_dumps_by_live_set(const std::vector<std::function<Registration(Dispatcher&)>>& steps,
                              const std::function<void(const std::string& dump)>& check_all) {
  std::vector<size_t> order(steps.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::map<unsigned, std::string> dumps;
  do {
    Dispatcher dispatcher;
    std::vector<Registration> live(steps.size());
    unsigned set = 0;
    const auto look = [&] {
      const std::string dump = dispatcher.dump_state("t::f");
      EXPECT_EQ(dumps.try_emplace(set, dump).first->second, dump);
      dispatcher.check_invariants();
    };
    for (const size_t i : order) {
      live[i] = steps[i](dispatcher);
      set |= 1u << i;
      look();
    }
    check_all(dispatcher.dump_state("t::f"));
    std::vector<size_t> back(order.rbegin(), order.rend());
    std::swap(back.front(), back[back.size() / 2]);
    for (const size_t i : back) {
      live[i].reset();
      set &= ~(1u << i);
      look();
    }
    EXPECT_EQ(dispatcher.dump_state("t::f"), "");
    EXPECT_FALSE(dispatcher.find_op("t::f"));
  } while (std::next_permutation(order.begin(), order.end()));
}

std::function<Registration(Dispatcher&)> definition() {
  return [](Dispatcher& dispatcher) {
    return dispatcher.register_block(BlockKind::kDef, "t", "",
                                     [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  };
}
std::function<Registration(Dispatcher&)> kernel_at(std::string key) {
  return [key](Dispatcher& dispatcher) {
    return dispatcher.register_block(BlockKind::kImpl, "t", key, [&](Library& m) {
      m.impl("f", OPYARD_FN(identity)).label("the kernel at " + key);
    });
  };
}

TEST_F(Scenario, N1DefinitionAndFourKernels) {
  expect_dumps_by_live_set(
      {definition(), kernel_at("CatchAll"), kernel_at("CPU"), kernel_at("Autograd"),
       kernel_at("AutogradCPU")},
      [](const std::string& dump) {
        for (const char* line :
             {"name: t::f\n", "schema: t::f(Tensor x) -> Tensor\n",
              "alias analysis kind: FROM_SCHEMA",
              "\nCPU: the kernel at CPU :: (Tensor _0) -> (Tensor _0) [ boxed "
              "unboxed ]\n",
              "\nAutogradCPU: ", "\nAutograd[alias]: ", "\nCompositeImplicitAutograd[alias]: "}) {
          EXPECT_TRUE(contains(dump, line)) << line << "in\n" << dump;
        }
      });
}

TEST_F(Scenario, N2DefinitionAndKernelDisagree) {
  const auto two = [&] { return define("f(Tensor x, Tensor y) -> Tensor"); };
  const auto one = [&] {
    return block(BlockKind::kImpl, "t", "CPU",
                 [](Library& m) { m.impl("f", OPYARD_FN(identity)); });
  };
  {
    const Registration first = two();
    const std::string before = dispatcher.dump_state("t::f");
    expect_words(error_of(one), Code::kInvalidArgument,
                 {"mismatch", "t::f", "2 vs 1", "scenarios_test.cc"});
    EXPECT_EQ(dispatcher.dump_state("t::f"), before);
  }
  const Registration first = one();
  const std::string before = dispatcher.dump_state("t::f");
  expect_words(error_of(two), Code::kInvalidArgument, {"mismatch", "t::f", "2 vs 1"});
  EXPECT_EQ(dispatcher.dump_state("t::f"), before);
  EXPECT_FALSE(dispatcher.find("t::f"));
  dispatcher.check_invariants();
}

TEST_F(Scenario, N3SchemasAreInferred) {
  const Registration def =
      block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f", OPYARD_FN(identity)); });
  EXPECT_EQ(to_string(dispatcher.get("t::f").schema()), "t::f(Tensor _0) -> (Tensor _0)");
  EXPECT_TRUE(contains(dispatcher.dump_state("t::f"), "\nCompositeImplicitAutograd[alias]: "));
}

TEST_F(Scenario, N4AndN5DefinitionsAndKernelsAlone) {
  expect_dumps_by_live_set({definition()}, [](const std::string& dump) {
    EXPECT_TRUE(contains(dump, "schema: t::f(Tensor x) -> Tensor"));
    EXPECT_FALSE(contains(dump, "boxed")) << "there is no kernel";
  });
  expect_dumps_by_live_set(
      {kernel_at("CatchAll"), kernel_at("CPU"), kernel_at("Autograd"), kernel_at("XLA")},
      [](const std::string& dump) {
        EXPECT_TRUE(contains(dump, "schema: (none)"));
        for (const char* key : {"\nCPU: ", "\nXLA: ", "\nAutograd[alias]: ",
                                "\nCompositeImplicitAutograd[alias]: "}) {
          EXPECT_TRUE(contains(dump, key)) << key;
        }
      });
}

TEST_F(Scenario, N15TwoIdenticalDefinitions) {
  const unsigned first_line = __LINE__ + 1;
  const Registration first = define();
  const std::string before = dispatcher.dump_state("t::f");
  const unsigned second_line = __LINE__ + 1;
  const Error error = error_of([&] { return define(); });
  expect_words(error, Code::kAlreadyExists,
               {"already defined", "t::f(Tensor x) -> Tensor",
                "scenarios_test.cc:" + std::to_string(first_line),
                "scenarios_test.cc:" + std::to_string(second_line)});
  EXPECT_EQ(dispatcher.dump_state("t::f"), before);
}

TEST_F(Scenario, N17TwoFallbacksForOneKey) {
  const auto fallback = [&](BoxedFn function, std::string_view label) {
    return block(BlockKind::kImpl, "_", "XLA",
                 [&](Library& m) { m.fallback(BoxedKernel{function}).label(label); });
  };
  const Registration first = fallback(&record, "the first one");
  expect_words(error_of([&] { return fallback(&record_too, "the second one"); }),
               Code::kAlreadyExists, {"already defined", "XLA", "the first one", "the second one"});
  const Registration def = define();
  EXPECT_EQ(trail(KeySet(XLA)), Labels{"the first one"});
  // The identical one is no second one; it goes without taking the first along.
  { const Registration again = fallback(&record, "the first one once more"); }
  EXPECT_EQ(trail(KeySet(XLA)), Labels{"the first one"});
}

TEST_F(Scenario, N18TheNewestOfTwoCompositesIsActive) {
  const Registration def = define();
  const Registration one = kernel("CatchAll", "fn1");
  Registration two = kernel("CatchAll", "fn2");
  const std::string dump = dispatcher.dump_state("t::f");
  EXPECT_TRUE(contains(dump, "CompositeImplicitAutograd[alias]: fn2 ")) << dump;
  EXPECT_TRUE(contains(dump, "CompositeImplicitAutograd[alias] (inactive): fn1 ")) << dump;
  EXPECT_EQ(trail(KeySet(CPU)), Labels{"fn2"});
  two.reset();
  EXPECT_EQ(trail(KeySet(CPU)), Labels{"fn1"});
}

TEST_F(Scenario, N19InvariantsHoldFromTheStart) {
  dispatcher.check_invariants();
  Dispatcher(false).check_invariants();
  Dispatcher::global().check_invariants();
}

TEST_F(Scenario, N28DefinitionsGoOutOfScope) {
  Registration def = define();
  ASSERT_TRUE(dispatcher.find("t::f"));
  expect_words(error_of([&] { trail(KeySet(CPU)); }), Code::kUnimplemented, {"no kernel"});
  def.reset();
  EXPECT_FALSE(dispatcher.find("t::f"));
  EXPECT_FALSE(dispatcher.find_op("t::f"));
  expect_words(error_of([&] {
                 return block(BlockKind::kDef, "t", "", [](Library& m) { m.def("f", kRecord); });
               }),
               Code::kInvalidArgument, {"could not infer a schema", "f"});
}

TEST_F(Scenario, N34And35SignaturesDisagree) {
  const Registration def = define();
  const Registration first =
      block(BlockKind::kImpl, "t", "CPU", [](Library& m) { m.impl("f", OPYARD_FN(identity)); });
  expect_words(error_of([&] {
                 return block(BlockKind::kImpl, "t", "CUDA",
                              [](Library& m) { m.impl("f", [](Tensor& x) { return x; }); });
               }),
               Code::kInvalidArgument, {"mismatch in kernel C++ signatures", "t::f"});
  const Tensor x = with_keys(KeySet(CPU));
  expect_words(error_of([&] {
                 dispatcher.call<Tensor, const Tensor&, int64_t>(dispatcher.get("t::f"), x, 1);
               }),
               Code::kInvalidArgument, {"wrong signature", "t::f(Tensor x) -> Tensor", "mismatch"});
}

TEST_F(Scenario, N36AFallbackSeesTheOperator) {
  static std::vector<std::string> seen;
  seen.clear();
  const Registration f = define();
  const Registration g = define("g.over(Tensor x) -> Tensor");
  const Registration fallback = block(BlockKind::kImpl, "_", "CPU", [](Library& m) {
    m.fallback(BoxedKernel{
        [](const Kernel&, Keys keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
          seen.push_back(keys.op().name());
          out[0] = in[0];
        }});
  });
  trail(KeySet(CPU));
  trail(KeySet({CPU, AutogradCPU}), "t::g.over");
  EXPECT_EQ(seen, (Labels{"t::f", "t::g.over"}));
  expect_words(error_of([&] { trail(KeySet(CUDA)); }), Code::kUnimplemented, {"no kernel", "CUDA"});
}

TEST_F(Scenario, N45KernelsWithoutDefinitionsAndOverloads) {
  const Registration impl =
      block(BlockKind::kImpl, "t", "", [](Library& m) { m.impl("f", OPYARD_FN(identity)); });
  EXPECT_FALSE(dispatcher.find("t::f"));
  EXPECT_TRUE(dispatcher.find_op("t::f"));
  expect_words(error_of([&] {
                 return block(BlockKind::kDef, "t", "",
                              [](Library& m) { m.def("u::f(Tensor x) -> Tensor"); });
               }),
               Code::kInvalidArgument, {"'u'", "'t'"});
  const Registration same = define("t::f(Tensor x) -> Tensor");
  const Registration overload = define("f.two(Tensor x, Tensor y) -> Tensor");
  EXPECT_NE(dispatcher.get("t::f"), dispatcher.get("t::f.two"));
  EXPECT_EQ(dispatcher.list("t::f"), (Labels{"t::f", "t::f.two"}));
}

TEST_F(Scenario, N52OneMoreKeyAfterTheOther) {
  const Registration def = define();
  const KeySet keys({CPU, AutogradCPU});
  const Registration cpu = kernel("CPU", "cpu");
  EXPECT_EQ(trail(keys), Labels{"cpu"});
  const Registration autograd = kernel("Autograd", "autograd");
  EXPECT_EQ(trail(keys), Labels{"autograd"});
  const Registration autograd_cpu = kernel("AutogradCPU", "autograd cpu");
  EXPECT_EQ(trail(keys), Labels{"autograd cpu"});
  EXPECT_EQ(trail(KeySet(CPU)), Labels{"cpu"});
}

TEST_F(Scenario, N59OneBlockDefinesANamespace) {
  const auto library = [&] { return block(BlockKind::kDef, "mine", "", [](Library&) {}); };
  Registration first = library();
  expect_words(error_of(library), Code::kAlreadyExists,
               {"'mine'", "scenarios_test.cc", "OPYARD_LIBRARY_FRAGMENT", "OPYARD_LIBRARY_IMPL"});
  const Registration fragment =
      block(BlockKind::kFragment, "mine", "", [](Library& m) { m.def("g() -> ()"); });
  first.reset();
  first = library();
}

TEST_F(Scenario, N60EveryWayToWriteAKernel) {
  const Registration def = block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("a", OPYARD_FN(identity));
    m.def("b", &identity_with_keys);
    m.def("c", [](const Tensor& x) { return x; });
    m.def("d", [](Keys, const Tensor& x) { return x; });
    m.def("e(Tensor x) -> Tensor", kRecord);
    m.def("g(Tensor x) -> Tensor", Fallthrough{});
  });
  for (const char* op : {"t::a", "t::b", "t::c", "t::d"}) {
    EXPECT_EQ(to_string(dispatcher.get(op).schema()),
              std::string(op) + "(Tensor _0) -> (Tensor _0)");
    const Tensor x = with_keys(KeySet(CPU));
    EXPECT_TRUE((dispatcher.call<Tensor, const Tensor&>(dispatcher.get(op), x).is_same(x))) << op;
    Stack stack = {IValue(x)};
    dispatcher.call_boxed(dispatcher.get(op), stack);
    EXPECT_TRUE(stack.at(0).to_tensor().is_same(x)) << op;
  }
  for (const auto& fill :
       {std::function<void(Library&)>([](Library& m) { m.def("h", kRecord); }),
        std::function<void(Library&)>([](Library& m) { m.def("h", Fallthrough{}); })}) {
    expect_words(error_of([&] { return block(BlockKind::kFragment, "t", "", fill); }),
                 Code::kInvalidArgument, {"could not infer a schema"});
  }
}

TEST_F(Scenario, N61ListenersHearOfDefinitions) {
  Labels heard;
  const auto listening =
      dispatcher.add_listener({[&](OperatorHandle op) { heard.push_back("+" + op.name()); },
                               [&](OperatorHandle op) { heard.push_back("-" + op.name()); }});
  const Registration impl = kernel("CPU", "cpu");
  EXPECT_EQ(heard, Labels{});
  Registration def = define();
  EXPECT_EQ(heard, Labels{"+t::f"});
  def.reset();
  EXPECT_EQ(heard, (Labels{"+t::f", "-t::f"})) << "though the kernel lives";
}

TEST_F(Scenario, N62And97AKernelThatOutlivesItsDefinition) {
  EXPECT_TRUE(dispatcher.dangling_impls().empty());
  Registration def = define();
  const Registration impl = kernel("CPU", "cpu");
  EXPECT_TRUE(dispatcher.dangling_impls().empty());
  def.reset();
  EXPECT_TRUE(dispatcher.find_op("t::f"));
  EXPECT_FALSE(dispatcher.find("t::f"));
  EXPECT_EQ(dispatcher.dangling_impls(), Labels{"t::f"});
  expect_words(error_of([&] { dispatcher.get("t::f"); }), Code::kFailedPrecondition,
               {"t::f", "def()"});
  def = define();
  EXPECT_EQ(trail(KeySet(CPU)), Labels{"cpu"});
  EXPECT_TRUE(dispatcher.dangling_impls().empty());
}

}  // namespace
}  // namespace opyard
