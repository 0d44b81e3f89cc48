#include "tests/plugins/torture/callers.h"

#include <algorithm>

#include "opyard/base/check.h"

namespace opyard::torture {
namespace {

constexpr size_t kMostKept = 24;

}  // namespace

Caller::Caller(RunState& state, uint64_t seed) : state_(state), random_(seed), judge_(state) {
  const Dispatcher& dispatcher = Dispatcher::global();
  for (const std::string slot : kSlots) {
    const auto op = [&](const char* name) { return dispatcher.get(slot + "::" + name); };
    operators_.push_back({op("which"), op("slow"), op("fails"), op("make"), op("nested")});
  }
}

void Caller::run() {
  try {
    while (!state_.stop.load(std::memory_order_relaxed)) {
      if (state_.gate.is_closed()) {
        look_at_kept(0);
        judge_.decide();
        state_.gate.pass();
      }
      const uint64_t dice = random_() % 100;
      const Kind kind = dice < 60   ? Kind::kTyped
                        : dice < 79 ? Kind::kBoxed
                        : dice < 80 ? Kind::kSlow
                        : dice < 90 ? Kind::kNested
                        : dice < 95 ? Kind::kMake
                                    : Kind::kFails;
      call(random_() % kNumSlots, kind);
      if (dice % 8 == 0) look_at_kept(random_() % kMostKept);
    }
  } catch (...) {
    state_.failures.add("a caller broke off: " + current_error().message());
  }
}

void Caller::call(size_t slot, Kind kind) {
  judge_.begin(slot);
  state_.by_kind[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  call_counted(slot, kind, now_ns());
}

// Accepted when it begins; completed or failed, with the build that says so either way.
void Caller::call_counted(size_t slot, Kind kind, uint64_t begin_ns) {
  using End = runtime::CallCounts::End;
  runtime::AcceptedCalls accepted(state_.counts, 1);
  uint64_t build = 0;
  try {
    build = answer(slot, kind, begin_ns);
    accepted.end(End::kCompleted);
    if (build == 0) state_.failures.add("a call was answered by no build");
  } catch (const Error& error) {
    accepted.end(End::kFailed);
    build = build_in(error.message());
    const bool meant = kind == Kind::kFails && build != 0 && error.code() == Code::kAborted;
    const bool gone = build == 0 && error.code() == Code::kNotFound;
    if (gone) state_.gone.fetch_add(1, std::memory_order_relaxed);
    if (!meant && !gone) {
      state_.failures.add(str_cat("lost: a call of ", kSlots[slot], ", kind ",
                                  static_cast<int>(kind), ": ", error.what()));
      return;
    }
  }
  judge_.saw(slot, {build, begin_ns, now_ns()});
}

uint64_t Caller::answer(size_t slot, Kind kind, uint64_t begin_ns) {
  const Dispatcher& dispatcher = Dispatcher::global();
  const Operators& ops = operators_[slot];
  const auto number = [](int64_t said) { return static_cast<uint64_t>(said); };
  switch (kind) {
    case Kind::kTyped:
      return number(dispatcher.call<int64_t, const Tensor&>(ops.which, x_));
    case Kind::kBoxed: {
      const IValue in[] = {IValue(x_)};
      IValue out[1];
      dispatcher.call_boxed(ops.which, in, 1, out, 1);
      return number(out[0].to_int());
    }
    case Kind::kSlow: {
      const auto us = static_cast<int64_t>(random_() % 5000);
      return number(dispatcher.call<int64_t, const Tensor&, int64_t>(ops.slow, x_, int64_t{us}));
    }
    case Kind::kNested:
      return answer_nested(slot, begin_ns);
    case Kind::kMake:
      return answer_made(slot);
    case Kind::kFails:
      return number(dispatcher.call<int64_t, const Tensor&>(ops.fails, x_));
  }
  return 0;
}

// One outermost call sees one state of all slots, however long it takes.
uint64_t Caller::answer_nested(size_t slot, uint64_t begin_ns) {
  const auto us = static_cast<int64_t>(random_() % 16 == 0 ? random_() % 3000 : 0);
  const std::vector<int64_t> seen =
      Dispatcher::global().call<std::vector<int64_t>, const Tensor&, int64_t>(
          operators_[slot].nested, x_, int64_t{us});
  const bool one_build =
      seen.size() == 5 && seen[1] == seen[0] && seen[3] == seen[0] && seen[4] == seen[2];
  if (!one_build) {
    std::string text;
    for (const int64_t each : seen) text += str_cat(" ", each);
    state_.failures.add(
        str_cat("wrong: a nested call of ", kSlots[slot], " saw several builds:", text));
    return seen.empty() ? 0 : static_cast<uint64_t>(seen[0]);
  }
  const size_t neighbour = (slot + 1) % kNumSlots;
  judge_.saw(neighbour, {seen[2] < 0 ? 0 : static_cast<uint64_t>(seen[2]), begin_ns, now_ns()});
  return static_cast<uint64_t>(seen[0]);
}

uint64_t Caller::answer_made(size_t slot) {
  Tensor made = Dispatcher::global().call<Tensor, const Tensor&>(operators_[slot].make, x_);
  const auto build = static_cast<uint64_t>(made.data<const int64_t>()[0]);
  kept_.push_back({std::move(made), build});
  if (kept_.size() > kMostKept) look_at_kept(kMostKept / 2);
  return build;
}

// Gives back all but `most` of what is kept, after a look at its elements.
void Caller::look_at_kept(size_t most) {
  std::shuffle(kept_.begin(), kept_.end(), random_);
  while (kept_.size() > most) {
    const Kept& kept = kept_.back();
    const auto* elements = kept.tensor.data<const int64_t>();
    const bool sound = std::all_of(elements, elements + 16, [&](int64_t each) {
      return static_cast<uint64_t>(each) == kept.build;
    });
    if (!sound) state_.failures.add(str_cat("wrong: a tensor of build ", kept.build, " changed"));
    kept_.pop_back();
    state_.tensors_kept.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace opyard::torture
