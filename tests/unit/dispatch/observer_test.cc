#include "opyard/dispatch/observer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>

#include "opyard/core/local_keys.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard {
namespace {

using enum DispatchKey;

struct ObserverTest : ::testing::Test {
  ObserverTest() {
    registration = dispatcher.register_block(BlockKind::kDef, "t", "", [](Library& m) {
      m.def("f.x(Tensor x) -> Tensor");
      m.impl("f.x", CPU, [](const Tensor& x) { return x; });
    });
  }
  void call() {
    dispatcher.call<Tensor, const Tensor&>(dispatcher.get("t::f.x"),
                                           make_tensor({1}, ScalarType::kFloat32));
  }
  Dispatcher dispatcher;
  Registration registration;
};

TEST_F(ObserverTest, TheTraceHasTheReferencesLines) {
  std::vector<std::string> lines;
  {
    const Observation trace = trace_calls([&](std::string_view line) { lines.emplace_back(line); });
    call();
    Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
    dispatcher.call_boxed(dispatcher.get("t::f.x"), stack);
  }
  call();
  const std::vector<std::string> wanted = {
      " [call] op=[t::f.x], key=[AutogradCPU]", "  [redispatch] op=[t::f.x], key=[CPU]",
      " [callBoxed] op=[t::f.x], key=[AutogradCPU]", "  [redispatchBoxed] op=[t::f.x], key=[CPU]"};
  EXPECT_EQ(lines, wanted);
}

TEST_F(ObserverTest, EnterAndLeaveMatchAlsoWhenAKernelThrows) {
  struct Counter : Observer {
    void enter(const CallEvent&) noexcept override { ++entered; }
    void leave(const CallEvent&) noexcept override { ++left; }
    int entered = 0;
    int left = 0;
  };
  const auto counter = std::make_shared<Counter>();
  const Observation observation = observe_calls(counter);
  const auto failing = dispatcher.register_block(BlockKind::kImpl, "t", "CPU", [](Library& m) {
    m.override_impl("f.x", [](const Tensor&) -> Tensor { raise(Code::kInternal, "no"); });
  });
  EXPECT_THROW(call(), Error);
  EXPECT_EQ(counter->entered, 2);
  EXPECT_EQ(counter->left, 2);
  EXPECT_EQ(thread_state.trace_depth, 0u);
}

TEST_F(ObserverTest, ATraceThatCannotWriteHarmsNobody) {
  int lines = 0;
  const Observation failing =
      trace_calls([](std::string_view) { throw std::runtime_error("the disk is full"); });
  const Observation other = trace_calls([&](std::string_view) { ++lines; });
  call();
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(thread_state.trace_depth, 0u);
}

TEST_F(ObserverTest, CallsOfKernelsAreNestedBelowThem) {
  static Dispatcher* inner_dispatcher = nullptr;
  inner_dispatcher = &dispatcher;
  const auto outer = dispatcher.register_block(BlockKind::kFragment, "t", "", [](Library& m) {
    m.def("outer(Tensor x) -> Tensor");
    m.impl("outer", CPU, [](const Tensor& x) {
      return inner_dispatcher->call<Tensor, const Tensor&>(inner_dispatcher->get("t::f.x"), x);
    });
  });
  std::vector<std::string> lines;
  const Observation trace = trace_calls([&](std::string_view line) { lines.emplace_back(line); });
  dispatcher.call<Tensor, const Tensor&>(dispatcher.get("t::outer"),
                                         make_tensor({1}, ScalarType::kFloat32));
  const std::vector<std::string> wanted = {
      " [call] op=[t::outer], key=[AutogradCPU]", "  [redispatch] op=[t::outer], key=[CPU]",
      "   [call] op=[t::f.x], key=[AutogradCPU]", "    [redispatch] op=[t::f.x], key=[CPU]"};
  EXPECT_EQ(lines, wanted);
}

TEST_F(ObserverTest, ObserversComeAndGoWhileCallsRun) {
  struct Watcher : Observer {
    void enter(const CallEvent& event) noexcept override {
      seen.fetch_add(event.depth > 0, std::memory_order_relaxed);
    }
    std::atomic<int> seen{0};
    std::vector<int> weight = std::vector<int>(1000);  // so that a use after free is noticed
  };
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!done.load()) call();
    });
  }
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    const auto watcher = std::make_shared<Watcher>();
    Observation first = observe_calls(watcher);
    const Observation second = observe_calls(std::make_shared<Watcher>());
    std::this_thread::yield();
    first.reset();
    seen += watcher->seen.load();
  }
  done.store(true);
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(seen, 0);
  EXPECT_FALSE(calls_are_observed());
  epoch::synchronize();
}

TEST_F(ObserverTest, WhoseListsCannotBeFreedIsNotTakenOnForEver) {
  const size_t bound = epoch::retired_bound();
  epoch::synchronize();
  epoch::set_retired_bound(1000);
  {
    const PinnedRoot pin;  // holds every replaced list back
    std::optional<Error> refused;
    for (int i = 0; i < 1000 && !refused; ++i) {
      try {
        const Observation one = trace_calls([](std::string_view) {});
      } catch (const Error& error) {
        refused = error;
      }
    }
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), Code::kResourceExhausted);
  }
  epoch::synchronize();
  epoch::set_retired_bound(bound);
}

TEST_F(ObserverTest, AKernelForOneKeyIsCalledDirectly) {
  const OperatorHandle op = dispatcher.get("t::f.x");
  Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
  dispatcher.call_boxed_for_key(op, CPU, stack);
  EXPECT_EQ(stack.size(), 1u);
  EXPECT_THROW(dispatcher.call_boxed_for_key(op, CUDA, stack), Error);
  const auto composite = dispatcher.register_block(BlockKind::kImpl, "t", "", [](Library& m) {
    m.impl("f.x", [](const Tensor&) { return Tensor(); });
  });
  dispatcher.call_boxed_for_key(op, CompositeImplicitAutograd, stack);
  EXPECT_FALSE(stack.at(0).to_tensor().defined());
}

Dispatcher* dispatcher_of_override = nullptr;
int overrides_run = 0;

TEST_F(ObserverTest, AnOverrideFetchesTheKernelThatItShadows) {
  dispatcher_of_override = &dispatcher;
  overrides_run = 0;
  const auto override_block =
      dispatcher.register_block(BlockKind::kImpl, "t", "CPU", [](Library& m) {
        m.override_impl("f.x", BoxedKernel{[](const Kernel&, Keys keys, const IValue* in,
                                              uint32_t n_in, IValue* out, uint32_t n_out) {
                          ++overrides_run;
                          dispatcher_of_override->shadowed_kernel(keys).call_boxed(keys, in, n_in,
                                                                                   out, n_out);
                        }});
      });
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  const OperatorHandle op = dispatcher.get("t::f.x");
  EXPECT_TRUE((dispatcher.call<Tensor, const Tensor&>(op, x).is_same(x)));
  EXPECT_EQ(overrides_run, 1);
}

TEST_F(ObserverTest, AFallbacksHandleIsValidAndARaisingOneIsNone) {
  const OperatorHandle op = dispatcher.get("t::f.x");
  EXPECT_TRUE(dispatcher.kernel(op, AutogradCPU).valid());
  EXPECT_THROW(dispatcher.kernel(op, Meta), Error);
}

TEST_F(ObserverTest, AListenerMayRegister) {
  Registration nested;
  std::vector<std::string> heard;
  const auto listening = dispatcher.add_listener(
      {[&](OperatorHandle op) {
         heard.push_back(op.name());
         if (op.name() != "u::g") return;
         nested = dispatcher.register_block(BlockKind::kFragment, "u", "",
                                            [](Library& m) { m.def("h(Tensor x) -> Tensor"); });
       },
       {}});
  const auto def = dispatcher.register_block(BlockKind::kFragment, "u", "",
                                             [](Library& m) { m.def("g(Tensor x) -> Tensor"); });
  EXPECT_EQ(heard, (std::vector<std::string>{"t::f.x", "u::g", "u::h"}));
}

TEST_F(ObserverTest, AFailedBatchTellsNothingAndLosesNothing) {
  std::vector<std::string> heard;
  const auto listening = dispatcher.add_listener(
      {[&](OperatorHandle op) {
         heard.push_back(op.name());
         // While this is told, another batch fails.
         EXPECT_THROW(dispatcher.register_block(
                          BlockKind::kFragment, "u", "",
                          [](Library& m) { m.def("bad(Tensor x) -> Tensor").def("broken("); }),
                      Error);
       },
       {}});
  const auto two = dispatcher.register_block(BlockKind::kFragment, "u", "", [](Library& m) {
    m.def("a(Tensor x) -> Tensor").def("b(Tensor x) -> Tensor");
  });
  EXPECT_EQ(heard, (std::vector<std::string>{"t::f.x", "u::a", "u::b"}));
}

TEST_F(ObserverTest, AKernelHandleSaysWhenItsKernelHasGone) {
  const OperatorHandle op = dispatcher.get("t::f.x");
  const KernelHandle handle = dispatcher.kernel(op, CPU);
  EXPECT_TRUE(handle.valid());
  EXPECT_THROW(dispatcher.kernel(op, Autograd), Error);
  EXPECT_THROW(dispatcher.kernel(op, CUDA), Error);
  registration.reset();
  EXPECT_FALSE(handle.valid());
}

TEST_F(ObserverTest, ListenersHearOfDefinitionsOnly) {
  std::vector<std::string> heard;
  const auto listening =
      dispatcher.add_listener({[&](OperatorHandle op) { heard.push_back("+" + op.name()); },
                               [&](OperatorHandle op) { heard.push_back("-" + op.name()); }});
  auto impl = dispatcher.register_block(BlockKind::kImpl, "u", "CPU", [](Library& m) {
    m.impl("g", [](const Tensor& x) { return x; });
  });
  EXPECT_EQ(dispatcher.dangling_impls(), std::vector<std::string>{"u::g"});
  auto def = dispatcher.register_block(BlockKind::kDef, "u", "",
                                       [](Library& m) { m.def("g(Tensor x) -> Tensor"); });
  EXPECT_TRUE(dispatcher.dangling_impls().empty());
  def.reset();
  EXPECT_EQ(heard, (std::vector<std::string>{"+t::f.x", "+u::g", "-u::g"}));
}

TEST_F(ObserverTest, PastTheBoundRegistrationIsRefusedAndSaysWhoHoldsItBack) {
  const size_t bound = epoch::retired_bound();
  epoch::synchronize();  // what earlier tests retired
  epoch::set_retired_bound(0);
  {
    const PinnedRoot pin;  // this thread holds everything back
    auto first = dispatcher.register_block(BlockKind::kFragment, "t", "",
                                           [](Library& m) { m.def("h(Tensor x) -> Tensor"); });
    try {
      dispatcher.register_block(BlockKind::kFragment, "t", "",
                                [](Library& m) { m.def("i(Tensor x) -> Tensor"); });
      ADD_FAILURE() << "was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kResourceExhausted);
      EXPECT_NE(error.message().find("thread"), std::string::npos) << error.message();
    }
  }
  epoch::synchronize();
  auto second = dispatcher.register_block(BlockKind::kFragment, "t", "",
                                          [](Library& m) { m.def("i(Tensor x) -> Tensor"); });
  epoch::set_retired_bound(bound);
}

}  // namespace
}  // namespace opyard
