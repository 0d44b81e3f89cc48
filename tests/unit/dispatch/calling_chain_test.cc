#include <functional>
#include <optional>
#include <thread>

#include "opyard/core/dict.h"
#include "opyard/core/local_keys.h"
#include "support.h"

namespace opyard {
namespace {

using enum DispatchKey;
using testing::error_of;
using testing::one;

uint64_t references(const Tensor& tensor) { return tensor.unsafe_impl()->use_count(); }

struct CallingChain : testing::CallFixture {};

// How a kernel of a chain is written.
enum class Form { kWithKeys, kPlain, kBoxed };
std::vector<std::string> trail;
const Dispatcher* current = nullptr;

// A plain kernel does not know its keys: it takes its own and those above it away from the thread
// and calls again.
template <DispatchKey key>
Tensor plain(const Tensor& x) {
  trail.push_back(to_string(key));
  if (key == CPU) return x;
  const ExcludeKeysGuard above(KeySet::full() -
                               KeySet::below(key == Autograd ? AutogradOther : key));
  return current->call<Tensor, const Tensor&>(current->get("t::f"), x);
}
template <DispatchKey key>
KeySet rest(Keys keys) {
  EXPECT_EQ(keys.set.highest_priority(), key == Autograd ? AutogradCPU : key);
  return key == Autograd ? keys.set - kAutogradKeys : keys.below(key).set;
}
template <DispatchKey key>
Tensor with_keys(Keys keys, const Tensor& x) {
  trail.push_back(to_string(key));
  if (key == CPU) return x;
  return invoke<Tensor, const Tensor&>(keys.with(rest<key>(keys)), x);
}
template <DispatchKey key>
void boxed_kernel(const Kernel&, Keys keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
  trail.push_back(to_string(key));
  Stack stack = {in[0]};
  if (key != CPU) current->redispatch_boxed(current->get("t::f"), rest<key>(keys), stack);
  out[0] = stack[0];
}
template <DispatchKey key>
void add_kernel(Library& m, Form form) {
  switch (form) {
    case Form::kWithKeys:
      m.impl("f", key, OPYARD_FN(with_keys<key>));
      break;
    case Form::kPlain:
      m.impl("f", key, OPYARD_FN(plain<key>));
      break;
    case Form::kBoxed:
      m.impl("f", key, BoxedKernel{&boxed_kernel<key>});
      break;
  }
}

// Tracer, then Autograd, then CPU, each written in any of three ways: 27 chains.
TEST_F(CallingChain, KernelsOfAllFormsMix) {
  constexpr Form kForms[] = {Form::kWithKeys, Form::kPlain, Form::kBoxed};
  const std::vector<std::string> wanted = {"Tracer", "Autograd", "CPU"};
  current = &dispatcher;
  for (int i = 0; i < 27; ++i) {
    const auto op = define("f(Tensor x) -> Tensor", [&](Library& m) {
      add_kernel<Tracer>(m, kForms[i / 9]);
      add_kernel<Autograd>(m, kForms[i / 3 % 3]);
      add_kernel<CPU>(m, kForms[i % 3]);
    });
    const IncludeKeysGuard tracing(KeySet{Tracer});
    const Tensor x = one();
    trail.clear();
    EXPECT_TRUE((dispatcher.call<Tensor, const Tensor&>(op, x)).is_same(x));
    EXPECT_EQ(trail, wanted) << "typed, chain " << i;
    trail.clear();
    EXPECT_TRUE(boxed(op, {IValue(x)}).at(0).to_tensor().is_same(x));
    EXPECT_EQ(trail, wanted) << "boxed, chain " << i;
    EXPECT_EQ(references(x), 1u);
    registrations.clear();
  }
}

void give_first(const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
  out[0] = in[0];
}
void give_last(const Kernel&, Keys, const IValue* in, uint32_t n_in, IValue* out, uint32_t n_out) {
  for (uint32_t i = 0; i < n_out; ++i) out[i] = in[n_in - n_out + i];
}
void give_another(const Kernel&, Keys, const IValue*, uint32_t, IValue* out, uint32_t n_out) {
  for (uint32_t i = 0; i < n_out; ++i) out[i] = IValue(one());
}

using Fill = std::function<void(Library&)>;

TEST_F(CallingChain, InPlaceGivesItsFirstArgumentBack) {
  const Fill forms[] = {
      [](Library& m) { m.impl("f", CPU, [](Tensor& x, const Tensor&) -> Tensor& { return x; }); },
      [](Library& m) { m.impl("f", CPU, BoxedKernel{&give_first}); },
      [](Library& m) { m.impl("f", CPU, BoxedKernel{&give_another}); }};
  for (const Fill& form : forms) {
    const auto op = define("f(Tensor(a!) self, Tensor other) -> Tensor(a!)", form);
    Tensor self = one();
    const Tensor other = one();
    EXPECT_EQ(&(dispatcher.call<Tensor&, Tensor&, const Tensor&>(op, self, other)), &self);
    if (&form != &forms[2]) {
      EXPECT_TRUE(boxed(op, {IValue(self), IValue(other)}).at(0).to_tensor().is_same(self));
    }
    EXPECT_EQ(references(self), 1u);
    EXPECT_EQ(references(other), 1u);
    registrations.clear();
  }
}

TEST_F(CallingChain, OutGivesItsLastArgumentsBack) {
  using Two = std::tuple<Tensor&, Tensor&>;
  const Fill forms[] = {
      [](Library& m) {
        m.impl("f", CPU, [](const Tensor&, Tensor& u, Tensor& v) -> Two { return {u, v}; });
      },
      [](Library& m) { m.impl("f", CPU, BoxedKernel{&give_last}); }};
  for (const Fill& form : forms) {
    const auto op =
        define("f(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!), Tensor(b!))", form);
    const Tensor x = one();
    Tensor u = one();
    Tensor v = one();
    const Two results = dispatcher.call<Two, const Tensor&, Tensor&, Tensor&>(op, x, u, v);
    EXPECT_EQ(&std::get<0>(results), &u);
    EXPECT_EQ(&std::get<1>(results), &v);
    {
      const Stack values = boxed(op, {IValue(x), IValue(u), IValue(v)});
      EXPECT_TRUE(values.at(0).to_tensor().is_same(u));
      EXPECT_TRUE(values.at(1).to_tensor().is_same(v));
    }
    EXPECT_EQ(references(x) + references(u) + references(v), 3u);
    registrations.clear();
  }
}

TEST_F(CallingChain, NoResultAndMixedResults) {
  static int calls = 0;
  calls = 0;
  auto op = define("f(Tensor x) -> ()",
                   [](Library& m) { m.impl("f", CPU, [](const Tensor&) { ++calls; }); });
  dispatcher.call<void, const Tensor&>(op, one());
  EXPECT_TRUE(boxed(op, {IValue(one())}).empty());
  EXPECT_EQ(calls, 2);
  registrations.clear();
  using Mixed = std::tuple<std::vector<Tensor>, std::optional<Tensor>, int64_t, std::string,
                           Dict<std::string, double>>;
  const auto mixed = [](const Tensor& x) -> Mixed {
    return {{x, x}, std::nullopt, 5, "text", {{"a", 1.5}}};
  };
  op = define("f(Tensor x) -> (Tensor[], Tensor?, int, str, Dict(str, float))",
              [&](Library& m) { m.impl("f", CPU, mixed); });
  const Tensor x = one();
  EXPECT_EQ(std::get<4>(dispatcher.call<Mixed, const Tensor&>(op, x)).size(), 1u);
  const Stack results = boxed(op, {IValue("below"), IValue(x)});
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results[0].to_string_view(), "below");
  EXPECT_TRUE(results[1].to_tensor_list()[1].is_same(x));
  EXPECT_TRUE(results[2].is_none());
  EXPECT_EQ(results[3].to_int(), 5);
  EXPECT_EQ(results[5].to_dict()[1].to_double(), 1.5);
}

// Every kind of argument, with the keys that it brings.
template <typename A>
void expect_keys(const std::string& type, A argument, KeySet wanted) {
  static KeySet seen;
  Dispatcher dispatcher;
  const auto registration = dispatcher.register_block(BlockKind::kDef, "t", "", [&](Library& m) {
    m.def("f(" + type + " v) -> ()");
    m.impl("f", BoxedKernel{[](const Kernel&, Keys keys, const IValue*, uint32_t, IValue*,
                               uint32_t) { seen = keys.set; }});
  });
  const OperatorHandle op = dispatcher.get("t::f");
  const IValue boxed = KernelType<std::remove_cvref_t<A>>::box(argument);
  EXPECT_EQ(keys_of(argument), wanted) << type;
  EXPECT_EQ(boxed_keys(key_positions(op.schema()), &boxed, 1), wanted) << type;
  dispatcher.call<void, A>(op, std::forward<A>(argument));
  const KeySet typed = seen;
  seen = KeySet();
  Stack stack = {boxed};
  dispatcher.call_boxed(op, stack);
  EXPECT_EQ(seen, typed) << type;
}

TEST(CallingKeys, TypedAndBoxedAgree) {
  using std::optional;
  using std::vector;
  const KeySet cpu = dense_tensor_keys(Backend::kCPU);
  const KeySet meta = dense_tensor_keys(Backend::kMeta);
  const KeySet undefined = {ADInplaceOrView, AutogradOther};
  const Tensor x = one();
  const Tensor y = make_tensor({1}, ScalarType::kFloat32, Backend::kMeta);
  const Tensor none;
  EXPECT_EQ(none.key_set(), undefined);
  expect_keys<const Tensor&>("Tensor", x, cpu);
  expect_keys<const Tensor&>("Tensor", none, undefined);
  expect_keys<const optional<Tensor>&>("Tensor?", x, cpu);
  expect_keys<const optional<Tensor>&>("Tensor?", none, undefined);
  expect_keys<const optional<Tensor>&>("Tensor?", std::nullopt, KeySet());
  const vector<Tensor> list = {x, y};
  expect_keys<TensorList>("Tensor[]", list, cpu | meta);
  expect_keys<const vector<Tensor>&>("Tensor[]", list, cpu | meta);
  expect_keys<std::array<Tensor, 2>>("Tensor[2]", {y, none}, meta | undefined);
  expect_keys<TensorList>("Tensor[]", {}, KeySet());
  const vector<optional<Tensor>> absent = {std::nullopt, y, none, std::nullopt};
  expect_keys<ArrayRef<optional<Tensor>>>("Tensor?[]", absent, meta | undefined);
  expect_keys<const vector<optional<Tensor>>&>("Tensor?[]", absent, meta | undefined);
  expect_keys<ArrayRef<optional<Tensor>>>("Tensor?[]", {}, KeySet());
  const vector<optional<Tensor>> all_absent = {std::nullopt};
  expect_keys<ArrayRef<optional<Tensor>>>("Tensor?[]", all_absent, KeySet());
  const auto generator = IntrusivePtr<Generator>::adopt(new Generator(1, KeySet{CustomRNGKeyId}));
  expect_keys<Generator&>("Generator", *generator, KeySet{CustomRNGKeyId});
  expect_keys<const IntrusivePtr<Generator>&>("Generator?", generator, KeySet{CustomRNGKeyId});
  expect_keys<const IntrusivePtr<Generator>&>("Generator?", nullptr, KeySet());
}

TEST(CallingKeys, NothingInsideOfOtherThingsIsLookedAt) {
  using std::vector;
  const Tensor x = one();
  const vector<Tensor> list = {x};
  expect_keys<std::optional<TensorList>>("Tensor[]?", TensorList(list), KeySet());
  expect_keys<const vector<vector<Tensor>>&>("Tensor[][]", {list}, KeySet());
  expect_keys<const Dict<std::string, Tensor>&>("Dict(str, Tensor)", {{"x", x}}, KeySet());
  expect_keys<const IValue&>("Any", IValue(x), KeySet());
  expect_keys<vector<IValue>>("Any[]", {IValue(x)}, KeySet());
  const auto generator = IntrusivePtr<Generator>::adopt(new Generator(1, KeySet{CustomRNGKeyId}));
  expect_keys<vector<IntrusivePtr<Generator>>>("Generator?[]", {generator}, KeySet());
  // A tuple where a list is wanted brings none either.
  const IValue tuple = IValue::tuple(std::vector<IValue>{IValue(x)});
  EXPECT_EQ(boxed_keys(1, &tuple, 1), KeySet());
}

template <size_t... I>
std::string error_of_many(std::index_sequence<I...>) {
  Dispatcher dispatcher;
  using Many = void (*)(Keys, std::conditional_t<true, int64_t, decltype(I)>...);
  try {
    const auto done = dispatcher.register_block(BlockKind::kDef, "t", "", [](Library& m) {
      m.def("f", static_cast<Many>([](Keys, std::conditional_t<true, int64_t, decltype(I)>...) {}));
    });
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

TEST(CallingKeys, SixtyFourArgumentsAreTheMost) {
  EXPECT_EQ(error_of_many(std::make_index_sequence<64>()), "");
  EXPECT_NE(error_of_many(std::make_index_sequence<65>()).find("more than 64 arguments"),
            std::string::npos);
}

TEST_F(CallingChain, CallForOneKeyTakesTheKernelThatStandsThere) {
  static std::vector<std::string> ran;
  ran.clear();
  static KeySet seen;
  const auto op = define("f(Tensor x) -> Tensor", [](Library& m) {
    m.impl("f", CPU, [](const Tensor& x) { return ran.push_back("CPU"), x; });
    m.impl("f", [](Keys keys, const Tensor& x) {
      seen = keys.set;
      return ran.push_back("composite"), x;
    });
    m.impl("f", SparseCPU, Fallthrough{});
  });
  const auto fallback =
      dispatcher.register_block(BlockKind::kImpl, "_", "PrivateUse1", [](Library& m) {
        m.fallback(
            BoxedKernel{[](const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
              ran.push_back("fallback");
              out[0] = in[0];
            }});
      });
  const auto call_at = [&](DispatchKey key) -> std::string {
    Stack stack = {IValue(one())};
    try {
      dispatcher.call_boxed_for_key(op, key, stack);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnimplemented);
      EXPECT_NE(error.message().find("no kernel"), std::string::npos) << error.message();
      return "none";
    }
    EXPECT_EQ(stack.size(), 1u);
    return ran.back();
  };
  EXPECT_EQ(call_at(CPU), "CPU");
  EXPECT_EQ(call_at(CompositeImplicitAutograd), "composite");
  // With the keys that any call with this argument has.
  EXPECT_EQ(seen.highest_priority(), AutogradCPU);
  EXPECT_EQ(call_at(PrivateUse1), "fallback");
  for (const DispatchKey key : {CUDA, Autograd, SparseCPU, Undefined, CompositeExplicitAutograd}) {
    EXPECT_EQ(call_at(key), "none") << to_string(key);
  }
  const size_t before = ran.size();
  EXPECT_EQ(call_at(AutogradCPU), "CPU");  // the autograd fallback passes the call on
  EXPECT_EQ(ran.size(), before + 1);
}

TEST_F(CallingChain, AnOverrideCallsWhatItCoversTyped) {
  const auto op = define("f(Tensor x, int n) -> int", [](Library& m) {
    m.impl("f", CPU, [](const Tensor&, int64_t n) { return n + 1; });
    m.impl("f", CUDA,
           BoxedKernel{[](const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
             out[0] = IValue(in[1].to_int() + 2);
           }});
  });
  const auto add = [&](std::string_view key) {
    return dispatcher.register_block(BlockKind::kImpl, "t", key, [](Library& m) {
      m.override_impl("f", [](Keys keys, const Tensor& x, int64_t n) {
        const KernelHandle covered = keys.op().dispatcher().shadowed_kernel(keys);
        return 10 * covered.call<int64_t, const Tensor&, int64_t>(keys, x, n);
      });
    });
  };
  auto over = add("CPU");
  const Tensor x = one();
  EXPECT_EQ((dispatcher.call<int64_t, const Tensor&, int64_t>(op, x, 4)), 50);
  EXPECT_EQ(boxed(op, {IValue(x), IValue(4)}).at(0).to_int(), 50);
  const auto over_boxed = add("CUDA");
  EXPECT_EQ((dispatcher.redispatch<int64_t, const Tensor&, int64_t>(op, KeySet(CUDA), x, 4)), 60);

  const KernelHandle handle = dispatcher.kernel(op, CPU);
  const Keys keys{KeySet(CPU), nullptr};
  EXPECT_THROW((handle.call<int64_t, const Tensor&>(keys, x)), Error);
  over.reset();
  EXPECT_FALSE(handle.valid());
  EXPECT_THROW((handle.call<int64_t, const Tensor&, int64_t>(keys, x, 1)), Error);
}

// Two generations of a plugin whose override calls what it covers, and is replaced meanwhile.
struct Generations {
  Dispatcher& dispatcher = Dispatcher::global();
  Registration definition = dispatcher.register_block(
      BlockKind::kFragment, "covered", "", [](Library& m) { m.def("f(Tensor x) -> int"); });
  Registration registration = dispatcher.register_libraries(libraries<1>(), Origin{"covered", 1});
  std::function<void()> meanwhile;
  std::optional<KernelHandle> kept;
  static inline Generations* current = nullptr;

  template <int64_t kNumber>
  static std::vector<Library> libraries() {
    std::vector<Library> all;
    all.emplace_back(BlockKind::kImpl, "covered", "CPU").impl("f", [](const Tensor&) {
      return kNumber;
    });
    all.emplace_back(BlockKind::kImpl, "covered", "CPU").override_impl("f", &covers);
    return all;
  }
  static int64_t covers(Keys keys, const Tensor& x) {
    const KernelHandle before = current->dispatcher.shadowed_kernel(keys);
    if (current->meanwhile) std::thread(std::exchange(current->meanwhile, nullptr)).join();
    const KernelHandle after = current->dispatcher.shadowed_kernel(keys);
    current->kept.emplace(before);
    return 10 * before.call<int64_t, const Tensor&>(keys, x) +
           after.call<int64_t, const Tensor&>(keys, x);
  }
  int64_t call() const {
    return dispatcher.call<int64_t, const Tensor&>(dispatcher.get("covered::f"), one());
  }
};

TEST(GlobalCallingChain, ACallUnderWayCallsWhatItsKernelCoveredWhenItBegan) {
  Generations plugin;
  Generations::current = &plugin;
  EXPECT_EQ(plugin.call(), 11);
  plugin.meanwhile = [&] {
    plugin.dispatcher.replace(plugin.registration, Generations::libraries<2>(),
                              Origin{"covered", 2});
  };
  EXPECT_EQ(plugin.call(), 11);
  EXPECT_EQ(error_of(
                [&] {
                  plugin.kept->call<int64_t, const Tensor&>({KeySet(CPU), nullptr}, one());
                },
                Code::kFailedPrecondition)
                .empty(),
            false);
  EXPECT_EQ(plugin.call(), 22);
  plugin.meanwhile = [&] { plugin.registration.reset(); };
  EXPECT_EQ(plugin.call(), 22);
}

}  // namespace
}  // namespace opyard
