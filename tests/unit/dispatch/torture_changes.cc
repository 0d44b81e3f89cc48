#include <chrono>
#include <thread>

#include "torture_world.h"

namespace opyard::torture {
namespace {

using enum DispatchKey;

int64_t typed_answer(const Tensor&) { return kTypedAnswer; }
int64_t typed_alias_answer(const Tensor&) { return kTypedAliasAnswer; }

using Fill = std::function<void(Library&)>;

// A change is taken as a whole, or refused because of what others have registered meanwhile.
void put(World& world, Held& slot, BlockKind kind, std::string_view ns, std::string_view key,
         Held next, const Fill& fill) {
  world.drop(slot);
  try {
    next.registration = world.dispatcher.register_block(kind, ns, key, fill);
  } catch (const Error& error) {
    ++world.refused_changes;
    const bool expected = error.code() == Code::kAlreadyExists ||
                          (error.code() == Code::kInvalidArgument &&
                           error.message().find("mismatch") != std::string::npos) ||
                          (error.code() == Code::kResourceExhausted &&
                           error.message().find("registration is refused") != std::string::npos);
    if (!expected) world.wrong("a change was refused: " + error.message());
  }
  slot = std::move(next);
}

void put_boxed(World& world, Held& slot, Does does, DispatchKey key, std::string_view op = "f") {
  Held next;
  const BoxedKernel kernel = world.boxed(next, does, key, is_alias_key(key));
  put(world, slot, BlockKind::kImpl, "t", to_string(key), std::move(next),
      [&](Library& m) { m.override_impl(op, kernel); });
}

void put_fallback(World& world, Held& slot, DispatchKey key) {
  Held next;
  const BoxedKernel kernel = world.boxed(next, Does::kAnswer, key, true);
  put(world, slot, BlockKind::kImpl, "_", to_string(key), std::move(next),
      [&](Library& m) { m.fallback(kernel); });
}

template <typename F>
void put_plain(World& world, Held& slot, std::string_view key, F kernel) {
  put(world, slot, BlockKind::kImpl, "t", key, {},
      [&](Library& m) { m.override_impl("f", kernel); });
}

void define(World& world, Held& slot, std::string_view schema) {
  put(world, slot, BlockKind::kFragment, "t", "", {}, [&](Library& m) { m.def(schema); });
}

// Definition and kernels at once; `broken`: refused at its end, and then nothing of it may stay.
void put_block(World& world, Held& slot, bool broken) {
  Held next;
  const BoxedKernel cpu = world.boxed(next, Does::kAnswer, CPU);
  const BoxedKernel autograd = world.boxed(next, Does::kGoDown, AutogradCPU);
  put(world, slot, BlockKind::kFragment, "t", "", std::move(next), [&](Library& m) {
    m.def("f(Tensor x) -> int").impl("f", CPU, cpu).impl("f", AutogradCPU, autograd);
    if (broken) m.def("p(Tensor x) -> int");  // exists already
  });
}

class CountingObserver final : public Observer {
 public:
  explicit CountingObserver(World& world) : world_(world) {}
  void enter(const CallEvent& event) noexcept override {
    if (event.op.name().substr(0, 3) != "t::" || event.depth == 0) world_.wrong("a strange event");
    ++world_.watched;
  }

 private:
  World& world_;
};

// One listener's view: an operator comes and goes in turn.
struct Heard {
  std::mutex mutex;
  bool defined = false;
};

void listen(World& world) {
  const auto heard = std::make_shared<Heard>();
  const auto hear = [heard, &world](bool defined) {
    return [heard, &world, defined](OperatorHandle op) {
      if (op.name() != "t::f") return;
      std::lock_guard lock(heard->mutex);
      if (heard->defined == defined) world.wrong("a listener heard the same news twice");
      heard->defined = defined;
    };
  };
  const auto listening = world.dispatcher.add_listener({hear(true), hear(false)});
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace

void change_something(World& world, std::mt19937_64& random, std::vector<Held>& slots) {
  Held& slot = slots[random() % slots.size()];
  ++world.changes;
  switch (random() % 18) {
    case 0:
      return world.drop(slot);
    case 1:
    case 2:
      return define(world, slot, "f(Tensor x) -> int");
    case 3:
      return define(world, slot, "f(Tensor x, int n) -> int");
    case 4:
      return put_boxed(world, slot, Does::kAnswer, CPU);
    case 5:
      return put_plain(world, slot, "CPU", OPYARD_FN(typed_answer));
    case 6:
      return put_plain(world, slot, "", OPYARD_FN(typed_alias_answer));
    case 7:
      return put_boxed(world, slot, Does::kAnswer, CompositeImplicitAutograd);
    case 8:
      return put_boxed(world, slot, Does::kGoDown, AutogradCPU);
    case 9:
      return put_boxed(world, slot, Does::kGoDownByHandle, AutogradCPU);
    case 10:
      return put_plain(world, slot, random() % 2 ? "AutogradCPU" : "CPU", Fallthrough{});
    case 11:
      return put_boxed(world, slot, Does::kThrow, CPU);
    case 12:
      return put_boxed(world, slot, random() % 2 ? Does::kCallShadowed : Does::kCallKept, CPU);
    case 13:
      return put_boxed(world, slot, Does::kCallPair, CPU);
    case 14:
      return put_fallback(world, slot, random() % 2 ? CPU : Tracer);
    case 15:
      return put_block(world, slot, random() % 2);
    case 16:
      return put_boxed(world, slot, Does::kAnswer, CPU, "k");
    default:
      return world.replace_pair();
  }
}

void watch_something(World& world, std::mt19937_64& random) {
  const auto op = world.dispatcher.find("t::f");
  switch (random() % 6) {
    case 0: {
      const Observation watching = observe_calls(std::make_shared<CountingObserver>(world));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return;
    }
    case 1:
      return listen(world);
    case 2:
      if (op) world.dispatcher.explain(*op, dense_tensor_keys(Backend::kCPU));
      return;
    case 3:
      if (op && world.dispatcher.table(*op).size() != kNumSlots) world.wrong("a table has no end");
      return;
    case 4:
      world.dispatcher.dump_state("t::f");
      return;
    default:
      return world.dispatcher.check_invariants();
  }
}

}  // namespace opyard::torture
