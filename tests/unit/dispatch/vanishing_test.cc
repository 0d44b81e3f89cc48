// Operators that vanish and return, and who is blamed when their tables cannot be freed.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard {
namespace {

using enum DispatchKey;

int64_t one(const Tensor&) { return 1; }
// Reads both of its arguments: a caller that brings one only makes it read too far.
void sum(const Kernel&, Keys, const IValue* in, uint32_t n_in, IValue* out, uint32_t) {
  if (n_in != 2) raise(Code::kDataLoss, "called as another schema");
  out[0] = IValue(in[1].to_int() + 1);
}

struct VanishingTest : ::testing::Test {
  Registration define(std::string_view schema) {
    return dispatcher.register_block(BlockKind::kFragment, "t", "",
                                     [&](Library& m) { m.def(schema); });
  }
  template <typename F>
  Registration put(std::string_view key, F kernel) {
    return dispatcher.register_block(BlockKind::kImpl, "t", key,
                                     [&](Library& m) { m.override_impl("f", kernel); });
  }
  int64_t call(OperatorHandle op) { return dispatcher.call<int64_t, const Tensor&>(op, x); }
  Code code_of_call(OperatorHandle op) {
    try {
      call(op);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  }

  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  Dispatcher dispatcher;
};

TEST_F(VanishingTest, ASignatureFixedByATypedCallStaysWithItsSchema) {
  const auto kernel = put("CPU", BoxedKernel{&sum});
  auto def = define("f(Tensor x) -> int");
  EXPECT_EQ(code_of_call(dispatcher.get("t::f")), Code::kDataLoss);  // the kernel is reached
  def.reset();
  def = define("f(Tensor x, int n) -> int");
  EXPECT_EQ(code_of_call(dispatcher.get("t::f")), Code::kInvalidArgument);
  def.reset();
  def = define("f(Tensor x) -> int");
  EXPECT_EQ(code_of_call(dispatcher.get("t::f")), Code::kDataLoss);
}

TEST_F(VanishingTest, ACallThatFitsNoSchemaYetFixesNothingForGood) {
  const auto kernel = put("CPU", BoxedKernel{&sum});
  const OperatorHandle op = *dispatcher.find_op("t::f");
  EXPECT_EQ(code_of_call(op), Code::kDataLoss);
  const auto def = define("f(Tensor x, int n) -> int");
  EXPECT_EQ(code_of_call(op), Code::kInvalidArgument);
}

// The typed kernel is meant for a definition that is still to come; the boxed one for the old.
TEST_F(VanishingTest, KernelsOfAnotherSchemaDoNotOpenTheOldOne) {
  auto def = define("f(Tensor x, int n) -> int");
  const OperatorHandle old = dispatcher.get("t::f");
  const auto boxed = put("AutogradCPU", BoxedKernel{&sum});
  def.reset();
  auto typed = put("CPU", OPYARD_FN(one));
  EXPECT_EQ(code_of_call(old), Code::kInvalidArgument);
  typed.reset();
  def = define("f(Tensor x, int n) -> int");
  EXPECT_EQ(dispatcher.get("t::f"), old);
  EXPECT_EQ(code_of_call(old), Code::kInvalidArgument);
}

TEST_F(VanishingTest, TypedKernelsTakeTheirSignatureToANewEntry) {
  const auto typed = put("CPU", OPYARD_FN(one));
  auto def = define("f(Tensor x) -> int");
  const OperatorHandle first = dispatcher.get("t::f");
  EXPECT_EQ(call(first), 1);
  def.reset();
  def = define("f(Tensor self) -> int");
  const OperatorHandle second = dispatcher.get("t::f");
  EXPECT_NE(first, second);
  EXPECT_EQ(call(second), 1);
  EXPECT_EQ(code_of_call(first), Code::kNotFound);
  def.reset();
  def = define("f(Tensor x) -> int");
  EXPECT_EQ(call(first), 1);
  EXPECT_EQ(code_of_call(second), Code::kNotFound);
  dispatcher.check_invariants();
}

// News that waited when a listener came are about a state that it has never met.
TEST_F(VanishingTest, AListenerHearsNothingOfWhatWasBeforeIt) {
  auto f = define("f(Tensor x) -> int");
  Registration g;
  std::vector<std::string> heard;
  ListenerRegistration late;
  const auto early = dispatcher.add_listener(
      {[&](OperatorHandle op) {
         if (op.name() != "t::g") return;
         f.reset();  // these wait until this function has returned
         f = define("f(Tensor x) -> int");
         late = dispatcher.add_listener(
             {[&](OperatorHandle late_op) { heard.push_back("+" + late_op.name()); },
              [&](OperatorHandle late_op) { heard.push_back("-" + late_op.name()); }});
       },
       {}});
  g = define("g(Tensor x) -> int");
  EXPECT_EQ(heard, (std::vector<std::string>{"+t::f", "+t::g"}));
  f.reset();
  EXPECT_EQ(heard.back(), "-t::f");
}

// A kernel that blocks until it is told to go on, on a thread of its own.
class Blocked {
 public:
  explicit Blocked(Dispatcher& dispatcher) {
    registration_ = dispatcher.register_block(BlockKind::kFragment, "t", "", [this](Library& m) {
      m.def("slow(Tensor x) -> int").impl("slow", CPU, BoxedKernel{&wait, this});
    });
    const OperatorHandle op = dispatcher.get("t::slow");
    thread_ = std::thread([this, op, &dispatcher] {
      thread_id = syscall(SYS_gettid);
      Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
      dispatcher.call_boxed(op, stack);
    });
    while (!inside_) std::this_thread::yield();
  }
  ~Blocked() { go_on(); }
  void go_on() {
    go_on_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<int64_t> thread_id{0};

 private:
  static void wait(const Kernel& kernel, Keys, const IValue*, uint32_t, IValue* out, uint32_t) {
    auto& self = *static_cast<Blocked*>(kernel.self);
    self.inside_ = true;
    while (!self.go_on_) std::this_thread::yield();
    out[0] = IValue(int64_t{0});
  }

  std::atomic<bool> inside_{false};
  std::atomic<bool> go_on_{false};
  Registration registration_;
  std::thread thread_;
};

// While it lives, a few tables may wait.
struct SmallBound {
  SmallBound() {
    epoch::synchronize();
    epoch::set_retired_bound(100000);
  }
  ~SmallBound() { epoch::set_retired_bound(before); }
  const size_t before = epoch::retired_bound();
};

TEST_F(VanishingTest, PublicationGoesOnBesideABlockedCallUntilTheBound) {
  const SmallBound bound;
  auto def = define("f(Tensor x) -> int");
  const OperatorHandle op = dispatcher.get("t::f");
  Blocked blocked(dispatcher);
  const auto since = std::chrono::steady_clock::now();
  int changes = 0;
  std::string message;
  for (; changes < 10000 && message.empty(); ++changes) {
    try {
      const auto kernel = put("CPU", OPYARD_FN(one));
      EXPECT_EQ(call(op), 1);  // new calls see each change at once
      if (changes == 2) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.message();
      message = error.message();
    }
  }
  const auto age = std::chrono::steady_clock::now() - since;
  EXPECT_GT(changes, 5);
  EXPECT_LT(changes, 10000);
  EXPECT_GT(epoch::retired_bytes(), 100000u);
  for (const std::string& fact :
       {str_cat("thread ", blocked.thread_id.load()), std::string("'t::slow'"),
        str_cat(epoch::retired_bytes(), " bytes"), std::string("bound is 100000")}) {
    EXPECT_NE(message.find(fact), std::string::npos) << fact << ": " << message;
  }
  const size_t at = message.find("at least ");
  ASSERT_NE(at, std::string::npos) << message;
  const int64_t told = std::atoll(message.c_str() + at + 9);
  EXPECT_GE(told, 20);
  EXPECT_LE(told, std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
  def.reset();  // what is there may still be removed
  EXPECT_EQ(code_of_call(op), Code::kNotFound);
  blocked.go_on();
  epoch::synchronize();
  EXPECT_EQ(epoch::retired_bytes(), 0u);
  def = define("f(Tensor x) -> int");
}

TEST_F(VanishingTest, WhoHoldsNothingBackIsNotBlamed) {
  const SmallBound bound;
  Blocked old(dispatcher);
  std::vector<Registration> kernels;
  while (epoch::retired_bytes() <= epoch::retired_bound())
    kernels.push_back(put("CPU", OPYARD_FN(one)));
  kernels.clear();
  const PinnedRoot frame;  // after the last publication
  try {
    define("f(Tensor x) -> int");
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    const auto self = str_cat("thread ", syscall(SYS_gettid), ",");
    EXPECT_EQ(error.message().find(self), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("'t::slow'"), std::string::npos) << error.message();
  }
}

TEST_F(VanishingTest, SynchronizeIsRefusedWithinACall) {
  const auto def = define("f(Tensor x) -> int");
  const auto kernel =
      put("CPU", BoxedKernel{[](const Kernel&, Keys keys, const IValue*, uint32_t, IValue*,
                                uint32_t) { keys.op().dispatcher().synchronize(); }});
  EXPECT_EQ(code_of_call(dispatcher.get("t::f")), Code::kFailedPrecondition);
  dispatcher.synchronize();
}

}  // namespace
}  // namespace opyard
