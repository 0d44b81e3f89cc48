#include <atomic>
#include <thread>

#include "opyard/core/local_keys.h"
#include "support.h"

namespace opyard {
namespace {

using enum DispatchKey;
using testing::one;

struct CallingTest : testing::CallFixture {};

TEST_F(CallingTest, EveryArgumentTypeAgreesTypedAndBoxed) {
  const auto op = define(
      "f(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, int e, float f, bool g, str h, Scalar i, "
      "int[] j, float[] k, bool[] l, ScalarType? m, Device? n, Scalar? o, int? p) -> int",
      [](Library& m) {
        m.impl("f", CPU,
               [](const Tensor& a, const std::optional<Tensor>& b, TensorList c,
                  ArrayRef<std::optional<Tensor>> d, int64_t e, double f, bool g,
                  std::string_view h, const Scalar& i, IntList j, ArrayRef<double> k,
                  ArrayRef<bool> l, std::optional<ScalarType> n, std::optional<Device> o,
                  const std::optional<Scalar>& p, std::optional<int64_t> q) -> int64_t {
                 return a.numel() + (b ? 10 : 20) + 100 * static_cast<int64_t>(c.size()) +
                        1000 * static_cast<int64_t>(d.size()) + 10000 * (d[0].has_value()) + e +
                        static_cast<int64_t>(f) + g + static_cast<int64_t>(h.size()) + i.to_int() +
                        j[1] + static_cast<int64_t>(k[0]) + l[0] + n.has_value() + o.has_value() +
                        p.has_value() + q.value_or(7);
               });
      });
  const Tensor x = one();
  const std::vector<Tensor> list = {x, x};
  const std::vector<std::optional<Tensor>> optional = {x, std::nullopt};
  const bool flags[] = {true};
  const auto typed =
      dispatcher
          .call<int64_t, const Tensor&, const std::optional<Tensor>&, TensorList,
                ArrayRef<std::optional<Tensor>>, int64_t, double, bool, std::string_view,
                const Scalar&, IntList, ArrayRef<double>, ArrayRef<bool>, std::optional<ScalarType>,
                std::optional<Device>, const std::optional<Scalar>&, std::optional<int64_t>>(
              op, x, std::nullopt, list, optional, 5, 2.5, true, "four", Scalar(3), IntList({1, 2}),
              ArrayRef<double>({4.0}), ArrayRef<bool>(flags, 1), ScalarType::kBool, std::nullopt,
              std::nullopt, std::nullopt);
  const Stack result =
      boxed(op, {IValue(x), IValue(), IValue(list),
                 IValue::list(std::vector<IValue>{IValue(x), IValue()}), IValue(5), IValue(2.5),
                 IValue(true), IValue("four"), IValue(3), IValue(std::vector<int64_t>{1, 2}),
                 IValue(ArrayRef<double>({4.0})), IValue(ArrayRef<bool>(flags, 1)),
                 IValue(ScalarType::kBool), IValue(), IValue(), IValue()});
  EXPECT_EQ(result.at(0).to_int(), typed);
  EXPECT_EQ(typed, 1 + 20 + 200 + 2000 + 10000 + 5 + 2 + 1 + 4 + 3 + 2 + 4 + 1 + 1 + 0 + 0 + 7);
}

TEST_F(CallingTest, ABoxedKernelIsCalledTyped) {
  const auto op = define("f(Tensor x, int n) -> (Tensor, Tensor)", [](Library& m) {
    m.impl("f", CPU,
           BoxedKernel{[](const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
             out[0] = in[0];
             out[1] = IValue(make_tensor({in[1].to_int()}, ScalarType::kInt64));
           }});
  });
  const Tensor x = one();
  const auto [first, second] =
      dispatcher.call<std::tuple<Tensor, Tensor>, const Tensor&, int64_t>(op, x, 4);
  EXPECT_TRUE(first.is_same(x));
  EXPECT_EQ(second.numel(), 4);
}

TEST_F(CallingTest, InPlaceAndOutReturnTheirArgument) {
  const auto op = define("f(Tensor(a!) self, *, Tensor(b!) out) -> Tensor(b!)", [](Library& m) {
    m.impl("f", CPU,
           BoxedKernel{[](const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
             out[0] = in[1];
           }});
  });
  Tensor x = one();
  Tensor out = one();
  const Tensor& result = dispatcher.call<Tensor&, const Tensor&, Tensor&>(op, x, out);
  EXPECT_EQ(&result, &out);
}

TEST_F(CallingTest, KernelsChainDownThroughTheKeys) {
  static std::vector<std::string> trail;
  trail.clear();
  const auto op = define("f(Tensor x) -> Tensor", [](Library& m) {
    m.impl("f", Tracer, [](Keys keys, const Tensor& x) {
      trail.push_back("tracer");
      return invoke<Tensor, const Tensor&>(keys.below(Tracer), x);
    });
    m.impl("f", Autograd, [](Keys keys, const Tensor& x) {
      trail.push_back("autograd");
      return invoke<Tensor, const Tensor&>(keys.with(keys.set - kAutogradKeys), x);
    });
    m.impl("f", CPU, [](const Tensor& x) {
      trail.push_back("cpu");
      return x;
    });
  });
  const IncludeKeysGuard tracing(KeySet{Tracer});
  dispatcher.call<Tensor, const Tensor&>(op, one());
  boxed(op, {IValue(one())});
  const std::vector<std::string> wanted = {"tracer", "autograd", "cpu",
                                           "tracer", "autograd", "cpu"};
  EXPECT_EQ(trail, wanted);
}

TEST_F(CallingTest, ErrorsTellTheFacts) {
  const auto op = define("f(Tensor x) -> Tensor",
                         [](Library& m) { m.impl("f", CUDA, [](const Tensor& x) { return x; }); });
  try {
    dispatcher.call<Tensor, const Tensor&>(op, one());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    for (const char* fact : {"no kernel", "t::f", "CPU", "CUDA", "float32[1] on cpu"}) {
      EXPECT_NE(error.message().find(fact), std::string::npos) << fact << ": " << error.message();
    }
    EXPECT_EQ(error.op(), "t::f");
    EXPECT_EQ(error.key(), "CPU");
  }
}

TEST_F(CallingTest, AnUnderfullStackIsRefused) {
  const auto op = define("f(Tensor x) -> Tensor", [](Library&) {});
  Stack stack;
  EXPECT_THROW(dispatcher.call_boxed(op, stack), Error);
}

// Calls race with registration and removal of the same operator's kernels.
TEST_F(CallingTest, CallsRaceWithRegistration) {
  const auto op = define("f(Tensor x) -> int", [](Library& m) {
    m.impl("f", CPU, [](const Tensor&) { return int64_t{1}; });
  });
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  const auto caller = [&] {
    const Tensor x = one();
    while (!stop) {
      const auto result = dispatcher.call<int64_t, const Tensor&>(op, x);
      if (result != 1 && result != 2) ++wrong;
    }
  };
  std::thread a(caller);
  std::thread b(caller);
  for (int i = 0; i < 300; ++i) {
    const auto over = dispatcher.register_block(BlockKind::kImpl, "t", "CPU", [](Library& m) {
      m.override_impl("f", [](const Tensor&) { return int64_t{2}; });
    });
  }
  stop = true;
  a.join();
  b.join();
  EXPECT_EQ(wrong, 0);
  dispatcher.synchronize();
  dispatcher.check_invariants();
}

}  // namespace
}  // namespace opyard
