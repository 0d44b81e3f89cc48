#include <algorithm>

#include "opyard/core/local_keys.h"
#include "torture_world.h"

namespace opyard::torture {
namespace {

using enum DispatchKey;

// What a call may raise while operators and kernels come and go; anything else is wrong.
bool may_be_raised(const Error& error) {
  const auto says = [&](std::string_view words) {
    return error.message().find(words) != std::string::npos;
  };
  switch (error.code()) {
    case Code::kUnimplemented:
      return says("no kernel") || says("ambiguous");
    case Code::kNotFound:
      return says("no longer registered") || says("shadows no other") || says("no kernel");
    case Code::kFailedPrecondition:
      return says("no longer registered; fetch it anew") || says("no definition");
    case Code::kInvalidArgument:
      return says("mismatch") || says("takes 2 arguments, got 1") || says("takes 1 arguments");
    case Code::kAborted:
      return says("thrown on purpose");
    case Code::kInternal:  // a redispatch by handle may meet a newer table than the call's
      return says("falls through");
    default:
      return false;
  }
}

void typed_call(World& world, OperatorHandle op, bool below_autograd) {
  const Tensor x = make_tensor({1}, ScalarType::kFloat32);
  if (below_autograd) {
    const BelowAutogradGuard guard;
    world.check_answer(world.dispatcher.call<int64_t, const Tensor&>(op, x));
  } else {
    world.check_answer(world.dispatcher.call<int64_t, const Tensor&>(op, x));
  }
}

void call_at_key(World& world, OperatorHandle op) {
  const FunctionSchema& schema = op.schema();
  Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
  if (schema.arguments.size() == 2) stack.push_back(IValue(int64_t{7}));
  ++context.direct;
  world.dispatcher.call_boxed_for_key(op, CPU, stack);
  world.check_answer(stack.back().to_int());
}

// A structured operator's wrapper and the kernel that it goes on to come in one publication.
void call_structured(World& world) {
  try {
    typed_call(world, world.s, false);
  } catch (const Error& error) {
    const bool half = error.op() == "t::k";
    if (world.is_global && half) world.wrong("a wrapper without its kernel: " + error.message());
    throw;
  }
}

void one_call(World& world, std::mt19937_64& random, std::vector<OperatorHandle>& known) {
  if (const auto op = world.dispatcher.find_op("t::f"); op && op->entry().schema()) {
    if (std::find(known.begin(), known.end(), *op) == known.end()) known.push_back(*op);
  }
  // An entry that had its turn long ago answers, or says that it has gone.
  const OperatorHandle op = known.empty() ? world.p : known[random() % known.size()];
  switch (random() % 12) {
    case 0:
    case 1:
    case 2:
      return typed_call(world, op, false);
    case 3:
      return typed_call(world, op, true);
    case 4:
    case 5:
    case 6:
      world.call(op);
      return;
    case 7:
      return call_at_key(world, op);
    case 8:
      return world.keep(world.dispatcher.kernel(op, CPU));
    case 9:
      return call_structured(world);
    case 10: {
      const IncludeKeysGuard guard{KeySet(Tracer)};
      world.call(op);
      return;
    }
    default:
      return world.check_pair();
  }
}

}  // namespace

void call_something(World& world, std::mt19937_64& random, std::vector<OperatorHandle>& known) {
  ++world.started;
  context = {world.clock.load(), 0, 0};
  try {
    one_call(world, random, known);
    ++world.answered;
  } catch (const Error& error) {
    ++world.raised;
    if (!may_be_raised(error)) {
      world.wrong(std::string(code_name(error.code())) + ": " + error.message());
    }
  }
  if (is_pinned()) world.wrong("a pin was left behind");
}

}  // namespace opyard::torture
