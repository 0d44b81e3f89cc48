// What holds for any registrations: a refused batch changes nothing, removal in any order leaves
// nothing behind, a replacement is a whole. Seeds are fixed and named in failures.

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

#include "registration_support.h"

namespace opyard {
namespace {

using namespace testing;
using enum DispatchKey;

constexpr std::array<int64_t, 4> kNumbers = {1, 2, 3, 4};
constexpr std::array<const char*, 4> kNames = {"t::f", "t::g", "u::f", "u::h"};
constexpr std::array<const char*, 3> kSignatures = {"(Tensor x) -> int", "(Tensor y) -> int",
                                                    "(Tensor x, int n=1) -> int"};
constexpr std::array<const char*, 8> kKeys = {"CPU",
                                              "AutogradCPU",
                                              "SparseCPU",
                                              "CompositeImplicitAutograd",
                                              "CompositeExplicitAutograd",
                                              "Autograd",
                                              "Tracer",
                                              "FPGA"};

int64_t typed(const Tensor&) { return 9; }
Tensor other_type(const Tensor& x) { return x; }

std::string table_of(const Dispatcher& dispatcher, OperatorHandle op) {
  std::string text;
  for (const TableRow& row : dispatcher.table(op)) {
    text += to_string(row.key) + ' ' + row.kernel + " [" + row.reason + "]\n";
  }
  return text;
}

// All that can be seen of a dispatcher.
std::string everything(const Dispatcher& dispatcher) {
  std::string text = "generation " + std::to_string(dispatcher.generation()) + "\n";
  for (const std::string& name : dispatcher.list()) text += "defined " + name + "\n";
  for (const std::string& name : dispatcher.dangling_impls()) text += "dangling " + name + "\n";
  for (const char* name : kNames) {
    text += dispatcher.dump_state(name);
    const auto op = dispatcher.find_op(name);
    if (!op) continue;
    if (op->entry().schema()) text += "schema " + to_string(*op->entry().schema()) + "\n";
    text += table_of(dispatcher, *op);
  }
  return text;
}

// Random blocks, most of which fit.
class Batches {
 public:
  explicit Batches(uint64_t seed) : random_(seed) {}

  size_t below(size_t count) { return random_() % count; }
  template <typename Choices>
  auto any(const Choices& choices) {
    return choices[below(choices.size())];
  }

  Origin origin() {
    static const std::array<Origin, 3> kOrigins = {Origin{}, Origin{"a", 1}, Origin{"b", 2}};
    return any(kOrigins);
  }

  std::vector<Library> next() {
    std::vector<Library> libraries;
    for (size_t i = 0; i <= below(3); ++i) add_block(libraries);
    return libraries;
  }

 private:
  void add_block(std::vector<Library>& libraries) {
    static constexpr std::array<BlockKind, 4> kKinds = {BlockKind::kDef, BlockKind::kFragment,
                                                        BlockKind::kImpl, BlockKind::kImpl};
    const BlockKind kind = any(kKinds);
    if (kind == BlockKind::kImpl && below(4) == 0) {
      Library& m = libraries.emplace_back(kind, "_", any(kKeys));
      below(3) == 0 ? m.fallback(Fallthrough{}) : m.fallback(answers(kNumbers[below(2)]));
      return;
    }
    const std::string name_space = below(2) ? "t" : "u";
    Library& m = libraries.emplace_back(kind, name_space, "");
    for (size_t i = 0; i <= below(3); ++i) add_record(m, kind, name_space);
  }

  void add_record(Library& m, BlockKind kind, const std::string& name_space) {
    std::string name = any(kNames);
    if (below(16) != 0) name.replace(0, 1, name_space);  // else of a foreign namespace, perhaps
    const DispatchKey key = parse_dispatch_key(any(kKeys));
    const bool defines = kind != BlockKind::kImpl && below(2) == 0;
    if (defines) {
      m.def(name + any(kSignatures));
      return;
    }
    switch (below(8)) {
      case 0:
        m.impl(name, key, Fallthrough{});
        return;
      case 1:
        m.impl(name, key, OPYARD_FN(typed)).label("typed");
        return;
      case 2:
        if (below(3) == 0) m.impl(name, key, OPYARD_FN(other_type)).label("other type");
        return;
      default:
        m.override_impl(name, key, answers(any(kNumbers)))
            .label("number " + std::to_string(below(100)));
    }
  }

  std::mt19937_64 random_;
};

TEST(RegistrationProperty, ARefusedChangeLeavesEverythingAsItWas) {
  size_t refused = 0, taken = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Batches batches(seed);
    Dispatcher dispatcher;
    int events = 0;
    auto listening = dispatcher.add_listener(
        {[&](OperatorHandle) { ++events; }, [&](OperatorHandle) { ++events; }});
    std::vector<Registration> registrations(5);
    for (int step = 0; step < 60; ++step) {
      Registration& place = registrations[batches.below(registrations.size())];
      if (batches.below(4) == 0) place.reset();
      const std::vector<Library> blocks = batches.next();
      const std::string before = everything(dispatcher);
      const int events_before = events;
      const bool held = static_cast<bool>(place);
      CapturedLog captured;
      try {
        dispatcher.replace(place, blocks, batches.origin());
        ++taken;
      } catch (const Error& error) {
        ++refused;
        ASSERT_EQ(everything(dispatcher), before) << error.message();
        ASSERT_EQ(events, events_before) << error.message();
        ASSERT_EQ(static_cast<bool>(place), held);
        ASSERT_TRUE(captured.take().empty());
        ASSERT_TRUE(error.code() == Code::kInvalidArgument || error.code() == Code::kAlreadyExists)
            << error.message();
      }
      dispatcher.check_invariants();
    }
    while (!registrations.empty()) {
      registrations.erase(registrations.begin() +
                          static_cast<long>(batches.below(registrations.size())));
    }
    ASSERT_TRUE(dispatcher.list().empty() && dispatcher.dangling_impls().empty());
    for (const char* name : kNames) ASSERT_EQ(dispatcher.dump_state(name), "");
  }
  EXPECT_GT(refused, 300u);
  EXPECT_GT(taken, 300u);
}

// Six registrations of all kinds, in the order in which they come.
std::vector<std::vector<Library>> six_kinds() {
  std::vector<std::vector<Library>> all(6);
  const auto add = [&](size_t i, BlockKind kind, std::string_view ns,
                       std::string_view key) -> Library& {
    return all[i].emplace_back(kind, ns, key);
  };
  add(0, BlockKind::kDef, "t", "").def("f(Tensor x) -> int");
  add(1, BlockKind::kImpl, "t", "CPU").impl("f", OPYARD_FN(typed)).label("impl");
  add(2, BlockKind::kImpl, "t", "CompositeImplicitAutograd")
      .impl("f", answers(kNumbers[0]))
      .label("alias");
  add(3, BlockKind::kImpl, "_", "PrivateUse1").fallback(answers(kNumbers[1])).label("fallback");
  add(4, BlockKind::kImpl, "t", "CPU").override_impl("f", answers(kNumbers[2])).label("override");
  add(5, BlockKind::kFragment, "t", "").def("f(Tensor x) -> int");
  return all;
}
Origin origin_of(size_t i) { return i == 5 ? Origin{"other", 1} : Origin{}; }

// What stands when only these registrations were ever made; without the order of publications.
std::string state_of(const Dispatcher& dispatcher) {
  const auto op = dispatcher.find_op("t::f");
  std::string text = dispatcher.dump_state("t::f");
  if (op) text += table_of(dispatcher, *op);
  return text;
}

TEST(RegistrationProperty, RemovalInAnyOrderLeavesWhatTheOthersMake) {
  const auto blocks = six_kinds();
  std::map<unsigned, std::string> expected;
  for (unsigned subset = 0; subset < 64; ++subset) {
    Dispatcher dispatcher;
    std::vector<Registration> kept;
    for (size_t i = 0; i < 6; ++i) {
      if (subset >> i & 1) kept.push_back(dispatcher.register_libraries(blocks[i], origin_of(i)));
    }
    expected[subset] = state_of(dispatcher);
  }
  std::array<size_t, 6> order{};
  std::iota(order.begin(), order.end(), 0);
  Dispatcher dispatcher;
  do {
    std::vector<Registration> all;
    for (size_t i = 0; i < 6; ++i) {
      all.push_back(dispatcher.register_libraries(blocks[i], origin_of(i)));
    }
    unsigned left = 63;
    for (const size_t i : order) {
      ASSERT_EQ(state_of(dispatcher), expected[left]);
      all[i].reset();
      left &= ~(1u << i);
    }
    ASSERT_FALSE(dispatcher.find_op("t::f"));
    ASSERT_EQ(dispatcher.dump_state("t::f"), "");
  } while (std::next_permutation(order.begin(), order.end()));
  dispatcher.check_invariants();
  // The namespace is free and only the built-in fallbacks are left.
  Dispatcher fresh;
  const auto probe = [](Dispatcher& each) {
    auto def = each.register_block(BlockKind::kDef, "t", "",
                                   [](Library& m) { m.def("probe(Tensor x) -> int"); });
    return table_of(each, each.get("t::probe"));
  };
  EXPECT_EQ(probe(dispatcher), probe(fresh));
}

TEST(RegistrationProperty, RegistrationsMayOutliveTheDispatcherInAnyState) {
  for (unsigned removed_before = 0; removed_before < 64; ++removed_before) {
    std::vector<Registration> all;
    {
      Dispatcher dispatcher;
      const auto blocks = six_kinds();
      for (size_t i = 0; i < 6; ++i) {
        all.push_back(dispatcher.register_libraries(blocks[i], origin_of(i)));
      }
      for (size_t i = 0; i < 6; ++i) {
        if (removed_before >> i & 1) all[i].reset();
      }
    }
    Dispatcher other;
    if (all[0]) {
      error_of([&] { other.replace(all[0], six_kinds()[0]); }, Code::kFailedPrecondition);
    }
    all.clear();
  }
}

}  // namespace
}  // namespace opyard
