#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "opyard/core/local_keys.h"
#include "opyard/dispatch/dispatcher.h"
#include "tests/unit/core/spec_keys.h"

// Which kernel a call reaches is compared with a model of fallthrough, masks and thread state that
// looks at one bit after the other.

namespace opyard {
namespace {

using enum DispatchKey;

// What a test kernel saw of its call.
struct Seen {
  int slot = -1;
  KeySet keys;
};
Seen seen;

template <int kSlot>
Tensor kernel_at(Keys keys, const Tensor& x, const Tensor&) {
  seen = {kSlot, keys.set};
  return x;
}

using TypedKernel = Tensor (*)(Keys, const Tensor&, const Tensor&);

template <int... kSlots>
constexpr std::array<TypedKernel, sizeof...(kSlots)> kernels_of(
    std::integer_sequence<int, kSlots...>) {
  return {&kernel_at<kSlots>...};
}
constexpr auto kKernels = kernels_of(std::make_integer_sequence<int, kNumSlots>());

enum class At : uint8_t { kMissing, kKernel, kFallthrough };

// An operator with a random mixture of kernels and fallthroughs, some of them fallbacks.
class Yard {
 public:
  explicit Yard(std::mt19937_64& random) : dispatcher_(false) {
    registrations_.push_back(dispatcher_.register_block(
        BlockKind::kDef, "t", "", [](Library& m) { m.def("f(Tensor x, Tensor y) -> Tensor"); }));
    for (const spec::Functionality& row : spec::kFunctionalities) {
      if (row.value == 0) continue;
      const uint64_t mood = random() % 5;  // 0: mostly kernels, … 4: mostly passed over
      for (int b = 0; b < (row.per_backend ? kNumBackends : 1); ++b) {
        put(row.slot + b, random() % 5 < mood ? At::kFallthrough : At::kKernel, random);
      }
    }
  }
  At at(int slot) const { return slots_[static_cast<size_t>(slot)]; }
  Dispatcher& dispatcher() { return dispatcher_; }

 private:
  void put(int slot, At what, std::mt19937_64& random) {
    if (random() % 10 == 0) what = At::kMissing;
    slots_[static_cast<size_t>(slot)] = what;
    if (what == At::kMissing) return;
    const bool falls = what == At::kFallthrough;
    const bool everywhere = falls && random() % 2 == 0;
    registrations_.push_back(dispatcher_.register_block(
        BlockKind::kImpl, everywhere ? "_" : "t", to_string(key_of_slot(slot)), [&](Library& m) {
          if (everywhere) {
            m.fallback(Fallthrough{});
          } else if (falls) {
            m.impl("f", Fallthrough{});
          } else {
            m.impl("f", kKernels[static_cast<size_t>(slot)]);
          }
        }));
  }

  Dispatcher dispatcher_;
  std::vector<Registration> registrations_;
  std::array<At, kNumSlots> slots_{};
};

// What a call's keys become, and the slot that it goes to.
Seen model(const Yard& yard, KeySet arguments, KeySet included, KeySet excluded) {
  uint64_t bits = arguments.bits() | included.bits();
  int backend = -1;  // the highest one, after thread state
  for (int b = 0; b < kNumBackends; ++b) {
    if (bits >> b & 1) backend = b;
  }
  Seen wanted{0, KeySet()};
  for (const spec::Functionality& row : spec::kFunctionalities) {
    if (row.bit < 0 || !(bits >> row.bit & 1)) continue;
    bool passed_over = true;
    if (!row.per_backend) {
      passed_over = yard.at(row.slot) == At::kFallthrough;
    } else if (backend >= 0) {
      passed_over = yard.at(row.slot + backend) == At::kFallthrough;
    } else {
      for (int b = 0; b < kNumBackends; ++b) {
        passed_over = passed_over && yard.at(row.slot + b) == At::kFallthrough;
      }
    }
    if (passed_over || (excluded.bits() >> row.bit & 1)) {
      bits &= ~(uint64_t{1} << row.bit);
    } else if (!row.per_backend) {
      wanted.slot = row.slot;
    } else {
      wanted.slot = backend < 0 ? 0 : row.slot + backend;
    }
  }
  wanted.keys = KeySet(bits);
  return wanted;
}

KeySet random_keys(std::mt19937_64& random) {
  uint64_t bits = random() & random();
  for (uint64_t thinner = random() % 3; thinner > 0; --thinner) bits &= random();
  // Every third set has one backend only, or none.
  if (random() % 3 == 0) {
    bits &= ~KeySet::kBackendBits;
    if (random() % 3 != 0) bits |= uint64_t{1} << random() % kNumBackends;
  }
  return KeySet(bits & KeySet::kFullBits);
}

Tensor with_keys(KeySet keys) {
  Tensor tensor = make_tensor({1}, ScalarType::kFloat32);
  tensor.unsafe_impl()->set_key_set(keys);
  return tensor;
}

// Runs a call; where it raises, the key of the error tells the slot.
template <typename Call>
Seen outcome(Call call) {
  seen = {};
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented) << error.message();
    EXPECT_EQ(seen.slot, -1);
    return {slot_of(parse_dispatch_key(error.key())), KeySet()};
  }
  return seen;
}

void expect_as_modelled(Yard& yard, std::mt19937_64& random) {
  const OperatorHandle op = yard.dispatcher().get("t::f");
  const Tensor x = with_keys(random_keys(random));
  const Tensor y = with_keys(random_keys(random));
  const IncludeKeysGuard include(random() % 2 ? random_keys(random) : KeySet());
  const ExcludeKeysGuard exclude(random() % 2 ? random_keys(random) : KeySet());
  const Seen wanted = model(yard, x.key_set() | y.key_set(), included_keys(), excluded_keys());
  const bool raises = yard.at(wanted.slot) == At::kMissing;
  const auto check = [&](const Seen& got, const char* how) {
    ASSERT_EQ(got.slot, wanted.slot) << how << ": " << to_string(wanted.keys);
    if (!raises) {
      ASSERT_EQ(got.keys, wanted.keys) << how;
    }
  };
  check(outcome([&] { yard.dispatcher().call<Tensor, const Tensor&, const Tensor&>(op, x, y); }),
        "typed");
  Stack stack = {IValue(x), IValue(y)};
  check(outcome([&] { yard.dispatcher().call_boxed(op, stack); }), "boxed");
  const Explanation told = yard.dispatcher().explain(op, x.key_set() | y.key_set());
  ASSERT_EQ(told.keys, wanted.keys);
  ASSERT_EQ(slot_of(told.chosen), wanted.slot);
  ASSERT_EQ(told.fails, raises);
}

TEST(Masks, CallsReachTheKernelOfTheModel) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 25; ++round) {
    Yard yard(random);
    for (int call = 0; call < 200; ++call) {
      expect_as_modelled(yard, random);
      if (HasFatalFailure()) return;
    }
  }
}

// The typed and the boxed path of one operator agree on every argument that can bring keys.
TEST(Masks, KeysComeFromEveryKindOfArgument) {
  Dispatcher dispatcher(false);
  const auto registration = dispatcher.register_block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, Generator? e, int f) -> int");
    m.impl("f", CompositeExplicitAutograd,
           [](Keys keys, const Tensor&, const std::optional<Tensor>&, TensorList,
              ArrayRef<std::optional<Tensor>>, const IntrusivePtr<Generator>&,
              int64_t) { return static_cast<int64_t>(keys.set.bits()); });
  });
  const OperatorHandle op = dispatcher.get("t::f");
  const ForceKeysGuard bare{KeySet(), KeySet()};
  const KeySet parts[] = {KeySet(FPGA), KeySet(CUDA), KeySet(HIP),
                          KeySet(XLA),  KeySet(VE),   KeySet(QuantizedMPS)};
  const auto generator = IntrusivePtr<Generator>::adopt(new Generator(1, KeySet(CustomRNGKeyId)));
  // Each argument alone, then all of them.
  for (unsigned with = 0; with < 32; ++with) {
    const auto part = [&](unsigned i) { return with >> i & 1 ? parts[i] : KeySet(CPU); };
    const Tensor a = with_keys(part(0));
    const std::optional<Tensor> b = with & 2 ? std::optional(with_keys(parts[1])) : std::nullopt;
    std::vector<Tensor> c;
    std::vector<std::optional<Tensor>> d = {std::nullopt};
    if (with & 4) c = {with_keys(parts[2]), with_keys(parts[3])};
    if (with & 8) d.emplace_back(with_keys(parts[5]));
    const IntrusivePtr<Generator> e = with & 16 ? generator : IntrusivePtr<Generator>();
    KeySet wanted = part(0);
    if (with & 2) wanted = wanted | parts[1];
    if (with & 4) wanted = wanted | parts[2] | parts[3];
    if (with & 8) wanted = wanted | parts[5];
    if (with & 16) wanted = wanted | generator->key_set();
    const int64_t typed =
        dispatcher.call<int64_t, const Tensor&, const std::optional<Tensor>&, TensorList,
                        ArrayRef<std::optional<Tensor>>, const IntrusivePtr<Generator>&, int64_t>(
            op, a, b, c, d, e, 0);
    EXPECT_EQ(KeySet(static_cast<uint64_t>(typed)), wanted) << with;
    Stack stack = {IValue(a),
                   b ? IValue(*b) : IValue(),
                   IValue(c),
                   IValue::list(std::vector<IValue>(d.begin(), d.end())),
                   e ? IValue(e) : IValue(),
                   IValue(int64_t{0})};
    dispatcher.call_boxed(op, stack);
    EXPECT_EQ(KeySet(static_cast<uint64_t>(stack.at(0).to_int())), wanted) << with;
  }
}

// An undefined tensor brings nothing: typed it is a null handle, boxed it is None.
TEST(Masks, UndefinedTensorsBringNoKeys) {
  Dispatcher dispatcher;
  const auto registration = dispatcher.register_block(BlockKind::kDef, "t", "", [](Library& m) {
    m.def("f(Tensor x) -> bool");
    m.impl("f", CompositeExplicitAutograd,
           [](Keys keys, const Tensor&) { return keys.set.highest_priority() == Undefined; });
  });
  EXPECT_TRUE((dispatcher.call<bool, const Tensor&>(dispatcher.get("t::f"), Tensor())));
}

}  // namespace
}  // namespace opyard
