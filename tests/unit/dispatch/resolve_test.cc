#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "opyard/dispatch/dispatcher.h"
#include "tests/unit/core/spec_keys.h"

// What tables hold is compared with a second implementation of the numbered rules, which is written
// for being read beside their description, on the names of the keys alone.

namespace opyard {
namespace {

bool contains(const spec::Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// One slot: which kernel, and why.
struct Held {
  std::string label;
  std::string reason;
};
using Table = std::vector<Held>;  // by slot

// What is registered: per key the labels, newest first; per runtime key a fallback.
class Rules {
 public:
  std::map<std::string, std::vector<std::string>> kernels;
  std::map<std::string, std::string> fallbacks;

  Table table() const {
    Table table;
    for (const std::string& key : runtime_) table.push_back(at(key));
    // Undefined has no bit that could be passed over.
    if (is_fallthrough(table[0].label)) table[0].label = "<missing>";
    return table;
  }
  static bool is_fallthrough(const std::string& label) { return label.starts_with("fallthrough"); }

 private:
  bool has(const std::string& key) const { return kernels.contains(key); }
  Held newest(const std::string& key, std::string reason) const {
    return {kernels.at(key).front(), std::move(reason)};
  }
  bool serves(const std::string& alias, const std::string& key) const {
    return has(alias) && contains(members_.at(alias), key);
  }

  // The backend keys that run below an autograd key.
  static spec::Names backends_below(const std::string& key) {
    if (key == "AutogradOther") {
      return spec::joined({{"FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU"},
                           spec::over_backends("Sparse"),
                           spec::over_backends("SparseCsr"),
                           spec::over_backends("Quantized")});
    }
    if (key == "AutogradNestedTensor") return spec::over_backends("NestedTensor");
    for (const std::string backend : spec::kBackends) {
      if (key == "Autograd" + backend) return {backend};
    }
    return {};
  }

  Held at(const std::string& key) const {
    const bool undefined = key == "Undefined";
    // 1
    if (has(key)) return newest(key, "kernel");
    // 2.1, 2.2
    for (const std::string alias :
         {"CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"}) {
      if (has(alias) && (undefined || serves(alias, key))) {
        return newest(alias, "default backend kernel");
      }
    }
    // B
    bool direct_below = false;
    for (const std::string& backend : backends_below(key)) direct_below |= has(backend);
    const bool b = direct_below || has("CompositeExplicitAutograd");
    // 2.3a, with "not B"
    if (!undefined && serves("CompositeImplicitAutogradNestedTensor", key) && !b) {
      return newest("CompositeImplicitAutogradNestedTensor", "nested kernel");
    }
    // 2.3b
    if (has("CompositeImplicitAutograd") &&
        (undefined || serves("CompositeImplicitAutograd", key))) {
      if (key == "AutogradOther" && direct_below) return {"<ambiguous>", "ambiguous autogradother"};
      if (!b) return newest("CompositeImplicitAutograd", "math kernel");
    }
    // 2.4, 2.5
    if (serves("Autograd", key)) return newest("Autograd", "autograd kernel");
    if (serves("FuncTorchBatchedDecomposition", key)) {
      return newest("FuncTorchBatchedDecomposition", "batched kernel");
    }
    // 3, 4
    if (fallbacks.contains(key)) return {fallbacks.at(key), "backend fallback"};
    return {"<missing>", "missing"};
  }

  static std::map<std::string, spec::Names> all_members() {
    std::map<std::string, spec::Names> members;
    for (const char* alias : spec::kAliases) members[alias] = spec::alias_members(alias);
    return members;
  }
  const std::map<std::string, spec::Names> members_ = all_members();
  const spec::Names runtime_ = spec::runtime_keys();
};

void do_nothing(const Kernel&, Keys, const IValue*, uint32_t, IValue*, uint32_t) {}

// The operator t::f(Tensor x) -> Tensor in a dispatcher of its own, and the rules beside it.
class Yard {
 public:
  explicit Yard(bool define = true) : dispatcher_(false) {
    if (!define) return;
    definition_ = dispatcher_.register_block(BlockKind::kDef, "t", "",
                                             [](Library& m) { m.def("f(Tensor x) -> Tensor"); });
  }
  Registration add(const std::string& key, const std::string& label) {
    return dispatcher_.register_block(BlockKind::kImpl, "t", key, [&](Library& m) {
      Rules::is_fallthrough(label) ? m.impl("f", Fallthrough{})
                                   : m.impl("f", BoxedKernel{&do_nothing});
      m.label(label);
    });
  }
  Registration add_fallback(const std::string& key, const std::string& label) {
    return dispatcher_.register_block(BlockKind::kImpl, "_", key, [&](Library& m) {
      Rules::is_fallthrough(label) ? m.fallback(Fallthrough{})
                                   : m.fallback(BoxedKernel{&do_nothing});
      m.label(label);
    });
  }
  // How the stored table differs; empty when it does not.
  std::string difference(const Table& wanted) const {
    std::ostringstream out;
    const std::vector<TableRow> rows = dispatcher_.table(*dispatcher_.find_op("t::f"));
    EXPECT_EQ(rows.size(), wanted.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const TableRow& row = rows[i];
      const char* raising = row.kind == KernelKind::kMissing     ? "<missing>"
                            : row.kind == KernelKind::kAmbiguous ? "<ambiguous>"
                                                                 : nullptr;
      const bool same = raising ? wanted[i].label == raising : wanted[i].label == row.kernel;
      const bool falls = !raising && Rules::is_fallthrough(row.kernel);
      if (same && wanted[i].reason == row.reason &&
          falls == (row.kind == KernelKind::kFallthrough)) {
        continue;
      }
      out << to_string(row.key) << " holds " << (raising ? raising : row.kernel) << " ["
          << row.reason << "], wanted " << wanted[i].label << " [" << wanted[i].reason << "]; ";
    }
    return out.str();
  }
  void drop_definition() { definition_.reset(); }
  Dispatcher& dispatcher() { return dispatcher_; }

 private:
  Dispatcher dispatcher_;
  Registration definition_;
};

spec::Names registrable_keys() {
  spec::Names keys = spec::runtime_keys();
  keys.erase(keys.begin());  // Undefined
  keys.insert(keys.end(), std::begin(spec::kAliases), std::end(spec::kAliases));
  return keys;
}

// Keys that the rules play off against each other come up more often than the others.
std::string random_key(std::mt19937& random) {
  static const spec::Names all = registrable_keys();
  static const spec::Names often = {
      "CPU",           "AutogradCPU", "QuantizedCPU",         "SparseCPU",        "NestedTensorCPU",
      "AutogradOther", "FPGA",        "AutogradNestedTensor", "FuncTorchBatched", "Functionalize",
      "XLA",           "AutogradXLA"};
  const auto pick = [&](const spec::Names& names) { return names[random() % names.size()]; };
  switch (random() % 4) {
    case 0:
      return pick(all);
    case 1:
      return pick(often);
    default:
      return spec::kAliases[random() % std::size(spec::kAliases)];
  }
}

std::string random_label(std::mt19937& random, size_t number) {
  return (random() % 8 == 0 ? "fallthrough" : "k") + std::to_string(number);
}

// Fallbacks at random keys, alias keys too; those that meet another one are refused.
std::vector<Registration> random_fallbacks(std::mt19937& random, Yard& yard, Rules& rules) {
  std::vector<Registration> registrations;
  for (size_t i = random() % 6; i > 0; --i) {
    const std::string key = random_key(random);
    spec::Names members = spec::alias_members(key);
    if (members.empty()) members = {key};
    const std::string label = (random() % 3 == 0 ? "fallthrough-fb" : "fb") + std::to_string(i);
    const bool taken = std::any_of(members.begin(), members.end(), [&](const std::string& member) {
      return rules.fallbacks.contains(member);
    });
    if (taken) continue;
    registrations.push_back(yard.add_fallback(key, label));
    for (const std::string& member : members) rules.fallbacks[member] = label;
  }
  return registrations;
}

void expect_nothing_left(Yard& yard) {
  yard.drop_definition();
  EXPECT_FALSE(yard.dispatcher().find_op("t::f"));
  EXPECT_EQ(yard.dispatcher().dump_state("t::f"), "");
  EXPECT_TRUE(yard.dispatcher().dangling_impls().empty());
}

TEST(Resolve, TablesFollowTheNumberedRulesThroughAnyHistory) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Yard yard;
    Rules rules;
    const std::vector<Registration> fallbacks = random_fallbacks(random, yard, rules);
    struct Live {
      std::string key, label;
      Registration registration;
    };
    std::vector<Live> live;
    size_t to_add = 1 + random() % 12;
    ASSERT_EQ(yard.difference(rules.table()), "");
    while (to_add > 0 || !live.empty()) {
      if (to_add > 0 && (live.empty() || random() % 3 != 0)) {
        // Sometimes one more kernel at a key that has one.
        const std::string key = !live.empty() && random() % 4 == 0
                                    ? live[random() % live.size()].key
                                    : random_key(random);
        const std::string label = random_label(random, to_add--);
        live.push_back({key, label, yard.add(key, label)});
        auto& labels = rules.kernels[key];
        labels.insert(labels.begin(), label);
      } else {
        const auto gone = live.begin() + static_cast<long>(random() % live.size());
        auto& labels = rules.kernels[gone->key];
        std::erase(labels, gone->label);
        if (labels.empty()) rules.kernels.erase(gone->key);
        live.erase(gone);
      }
      ASSERT_EQ(yard.difference(rules.table()), "");
    }
    yard.dispatcher().check_invariants();
    expect_nothing_left(yard);
  }
}

using Order = std::vector<size_t>;

// Every order up to six, above that 2,000 seeded ones.
std::vector<Order> orders_of(size_t count) {
  Order order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<Order> orders;
  std::mt19937 random(1);
  do {
    orders.push_back(order);
    if (count > 6) std::shuffle(order.begin(), order.end(), random);
  } while (count > 6 ? orders.size() < 2000 : std::next_permutation(order.begin(), order.end()));
  return orders;
}

// The tables of all sets of live registrations, by the rules.
class TablesByLiveSet {
 public:
  TablesByLiveSet(const spec::Names& keys, const Rules& with_fallbacks)
      : keys_(keys), fallbacks_(with_fallbacks.fallbacks) {}
  const Table& of(uint64_t live) {
    const auto [found, is_new] = tables_.try_emplace(live);
    if (is_new) {
      Rules rules;
      rules.fallbacks = fallbacks_;
      for (size_t i = 0; i < keys_.size(); ++i) {
        if (live >> i & 1) rules.kernels[keys_[i]] = {"k" + std::to_string(i)};
      }
      found->second = rules.table();
    }
    return found->second;
  }

 private:
  const spec::Names keys_;
  const std::map<std::string, std::string> fallbacks_;
  std::map<uint64_t, Table> tables_;
};

// Adds kernels at these different keys in every order, and removes them in every order; the stored
// table must be that of the live ones after each step, and nothing may remain.
void expect_order_proof(const spec::Names& keys, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<Order> orders = orders_of(keys.size());
  for (size_t round = 0; round < orders.size(); ++round) {
    std::mt19937 same = random;
    Yard yard(false);
    Rules rules;
    const std::vector<Registration> fallbacks = random_fallbacks(same, yard, rules);
    static thread_local std::map<unsigned, TablesByLiveSet> tables;
    TablesByLiveSet& wanted = tables.try_emplace(seed, keys, rules).first->second;
    std::vector<Registration> registrations(keys.size());
    uint64_t live = 0;
    for (const size_t i : orders[round]) {
      registrations[i] = yard.add(keys[i], "k" + std::to_string(i));
      live |= uint64_t{1} << i;
      ASSERT_EQ(yard.difference(wanted.of(live)), "") << "adding in order " << round;
    }
    // Another order for the way back: all of them come up, too.
    for (const size_t i : orders[orders.size() - 1 - (round * 7) % orders.size()]) {
      registrations[i].reset();
      live &= ~(uint64_t{1} << i);
      if (live == 0) break;
      ASSERT_EQ(yard.difference(wanted.of(live)), "") << "removing, round " << round;
    }
    expect_nothing_left(yard);
  }
}

spec::Names different_keys(std::mt19937& random, size_t count) {
  spec::Names keys;
  while (keys.size() < count) {
    const std::string key = random_key(random);
    if (!contains(keys, key)) keys.push_back(key);
  }
  return keys;
}

TEST(Resolve, TheStoredTableDependsOnWhatIsLiveAlone) {
  std::mt19937 random(11);
  unsigned seed = 100;
  for (const size_t count : {2u, 3u, 4u, 5u, 6u}) {
    expect_order_proof(different_keys(random, count), seed++);
  }
}

TEST(Resolve, MoreThanSixInSeededOrders) {
  std::mt19937 random(12);
  expect_order_proof(different_keys(random, 9), 200);
}

// The incremental updates of the reference go wrong on these.
TEST(Resolve, ShapesThatTheReferenceGetsWrong) {
  const std::string composite = "CompositeImplicitAutograd";
  unsigned seed = 300;
  for (const spec::Names& keys :
       {spec::Names{composite, "QuantizedCPU"}, spec::Names{composite, "SparseCPU"},
        spec::Names{composite, "CompositeExplicitAutograd"},
        spec::Names{composite, "NestedTensorCPU"},
        spec::Names{composite, "Autograd", "CompositeExplicitAutograd"},
        spec::Names{composite, "CPU", "XLA", "Autograd", "AutogradCPU"},
        spec::Names{"CompositeImplicitAutogradNestedTensor", "NestedTensorCPU", "Autograd"}}) {
    expect_order_proof(keys, seed++);
  }
}

std::vector<std::string> ran;
void record(const Kernel& kernel, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
  ran.push_back(kernel.debug);
  out[0] = in[0];
}

// What a user sees of it: three registrations, one tensor, any order, one kernel.
TEST(Resolve, TheSameKernelIsCalledWhateverTheOrder) {
  const spec::Names keys = {"CompositeImplicitAutograd", "Autograd", "CompositeExplicitAutograd"};
  for (const Order& order : orders_of(keys.size())) {
    Dispatcher dispatcher;
    std::vector<Registration> registrations;
    registrations.push_back(dispatcher.register_block(
        BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x) -> Tensor"); }));
    for (const size_t i : order) {
      registrations.push_back(dispatcher.register_block(
          BlockKind::kImpl, "t", keys[i],
          [&](Library& m) { m.impl("f", BoxedKernel{&record}).label(keys[i]); }));
    }
    ran.clear();
    Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
    dispatcher.call_boxed(dispatcher.get("t::f"), stack);
    EXPECT_EQ(ran, std::vector<std::string>{"Autograd"});
  }
}

}  // namespace
}  // namespace opyard
