#include "torture_world.h"

#include <gtest/gtest.h>

#include "opyard/dispatch/registry.h"

namespace opyard::torture {

thread_local CallContext context;

namespace {

using enum DispatchKey;

// The world that structured wrappers and typed kernels belong to; they carry nothing themselves.
std::atomic<World*> current{nullptr};

bool leads_to(Keys keys, const Kernel& kernel) {
  return context.direct > 0 || &keys.table->kernel(keys.set) == &kernel;
}

void check_call(const Self& self, const Kernel& kernel, Keys keys, uint32_t n_in) {
  World& world = *self.world;
  if (self.state.load() != Self::kAlive) world.wrong("a kernel was called after it was freed");
  const uint64_t removed_at = self.removed_at.load();
  if (removed_at != 0 && removed_at <= context.started_at && context.direct == 0) {
    world.wrong("a call reached a kernel that was removed before it started");
  }
  if (!leads_to(keys, kernel)) world.wrong("the table names another kernel than the one called");
  if (context.direct == 0 && !self.everywhere && keys.set.highest_priority() != self.key) {
    world.wrong("the kernel at " + to_string(self.key) + " was called with " + to_string(keys.set));
  }
  const FunctionSchema* schema = keys.op().schema();
  if (!schema || schema->arguments.size() != n_in) {
    world.wrong(keys.op().name() + ", a kernel got " + std::to_string(n_in) + " arguments for " +
                (schema ? to_string(*schema) : "no schema"));
  }
}

// What an override covers, and what a handle was kept of, may be a fallthrough by now.
void call_direct(const KernelHandle& handle, Keys keys, const IValue* in, uint32_t n_in,
                 IValue* out) {
  ++context.direct;
  try {
    handle.call_boxed(keys, in, n_in, out, 1);
  } catch (const Error& error) {
    if (error.code() != Code::kInternal) throw;
    if (error.message().find("falls through") == std::string::npos) throw;
    raise(Code::kAborted, "thrown on purpose, for a fallthrough");
  }
}

// Errors pass through to the outermost caller.
int64_t do_nested(World& world, const Self& self, Keys keys, const IValue* in, uint32_t n_in) {
  IValue out;
  const Keys below = keys.with(keys.set & KeySet::below(keys.set.highest_priority()));
  switch (self.does) {
    case Does::kGoDown:
      invoke_boxed(CallLabel::kRedispatchBoxed, below, in, n_in, &out, 1);
      break;
    case Does::kGoDownByHandle: {
      Stack stack(in, in + n_in);
      world.dispatcher.redispatch_boxed(OperatorHandle(&keys.op()), below.set, stack);
      out = stack.back();
      break;
    }
    case Does::kCallShadowed:
      call_direct(world.dispatcher.shadowed_kernel(keys), keys, in, n_in, &out);
      break;
    default: {
      const auto handle = world.kept(static_cast<uint64_t>(self.generation));
      if (!handle) return self.generation;
      call_direct(*handle, keys, in, n_in, &out);
    }
  }
  return out.to_int();
}

void boxed_kernel(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                  uint32_t) {
  const Self& self = *static_cast<const Self*>(kernel.self);
  World& world = *self.world;
  check_call(self, kernel, keys, n_in);
  const CallContext before = context;
  int64_t answer = self.generation;
  ++context.depth;
  try {
    if (self.does == Does::kThrow) raise(Code::kAborted, "thrown on purpose");
    if (self.does == Does::kCallPair) {
      context.direct = 0;
      world.check_pair();
    } else if (self.does != Does::kAnswer && context.depth < 8) {
      answer = do_nested(world, self, keys, in, n_in);
    }
  } catch (...) {
    context = before;
    throw;
  }
  context = before;
  // Still alive: the pin covers the whole call.
  if (self.state.load() != Self::kAlive) world.wrong("a kernel was freed while it ran");
  out[0] = IValue(answer);
}

int64_t wrapper(Keys keys, const Tensor& x) {
  World& world = *current.load();
  return world.dispatcher.redispatch<int64_t, const Tensor&>(world.k, keys.set, x);
}

Held define_permanent(Dispatcher& dispatcher) {
  Held held;
  held.registration = dispatcher.register_block(BlockKind::kFragment, "t", "", [](Library& m) {
    m.def("p(Tensor x) -> int").def("q(Tensor x) -> int");
    m.def("k(Tensor x) -> int").def("s(Tensor x) -> int");
  });
  const StructuredForm form{"t::s", reinterpret_cast<const void*>(&wrapper),
                            SignatureOf<int64_t(const Tensor&)>::info()};
  dispatcher.declare_structured("t::k", form);
  return held;
}

}  // namespace

World::World(Dispatcher& tortured)
    : dispatcher(tortured),
      is_global(&tortured == &Dispatcher::global()),
      permanent(define_permanent(dispatcher)),
      p(dispatcher.get("t::p")),
      q(dispatcher.get("t::q")),
      k(dispatcher.get("t::k")),
      s(dispatcher.get("t::s")) {
  current = this;
  replace_pair();
  // Fixes the signature of t::k, so that its table is the frame's from the first wrapper on.
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  EXPECT_THROW((dispatcher.call<int64_t, const Tensor&>(k, x)), Error);
}

World::~World() {
  drop(pair_);
  permanent.registration.reset();
  kept_.clear();
  epoch::synchronize();
  for (Self* self : all_) delete self;
}

BoxedKernel World::boxed(Held& held, Does does, DispatchKey key, bool everywhere) {
  auto* self = new Self;
  self->world = this;
  self->generation = ++generations;
  self->does = does;
  self->everywhere = everywhere;
  self->key = key;
  held.selves.push_back(self);
  std::lock_guard lock(mutex_);
  all_.push_back(self);
  return BoxedKernel{&boxed_kernel, self};
}

void World::drop(Held& held) {
  held.registration.reset();
  for (Self* self : held.selves) {
    self->removed_at = clock.fetch_add(1) + 1;
    epoch::retire(self, [](void* pointer) {
      auto& dead = *static_cast<Self*>(pointer);
      dead.state = Self::kDead;
      ++dead.world->freed;
    });
    ++retired;  // after it is: synchronize() answers for what was retired before its call
  }
  held.selves.clear();
}

void World::wrong(const std::string& what) {
  std::lock_guard lock(mutex_);
  if (complaints_.size() < 20) complaints_.push_back(what);
}

std::vector<std::string> World::complaints() {
  std::lock_guard lock(mutex_);
  return complaints_;
}

void World::replace_pair() {
  Held next;
  const BoxedKernel kernel = boxed(next, Does::kAnswer, CPU);
  next.registration = dispatcher.register_block(BlockKind::kImpl, "t", "CPU", [&](Library& m) {
    m.override_impl("p", kernel).override_impl("q", kernel);
  });
  {
    std::lock_guard lock(mutex_);
    std::swap(pair_, next);
  }
  drop(next);
}

int64_t World::call(OperatorHandle op) {
  const std::array<IValue, 2> in = {IValue(make_tensor({1}, ScalarType::kFloat32)),
                                    IValue(int64_t{7})};
  IValue out;
  dispatcher.call_boxed(op, in.data(), op.schema().arguments.size(), &out, 1);
  const int64_t answer = out.to_int();
  check_answer(answer);
  return answer;
}

void World::check_answer(int64_t answer) {
  if (answer < kTypedAliasAnswer || answer == 0 || answer > generations.load()) {
    wrong("no kernel gives the answer " + std::to_string(answer));
  }
}

// Both got their kernel in one publication, so a frame sees the same generation of both.
void World::check_pair() {
  const PinnedRoot frame;
  const int64_t first = call(p);
  const int64_t second = call(q);
  if (is_global && first != second) wrong("a frame saw one half of a publication");
}

void World::keep(KernelHandle handle) {
  std::lock_guard lock(mutex_);
  if (kept_.size() < 16) {
    kept_.push_back(std::move(handle));
  } else {
    kept_[static_cast<size_t>(generations.load()) % 16] = std::move(handle);
  }
}

std::optional<KernelHandle> World::kept(uint64_t pick) {
  std::lock_guard lock(mutex_);
  if (kept_.empty()) return std::nullopt;
  return kept_[pick % kept_.size()];
}

}  // namespace opyard::torture
