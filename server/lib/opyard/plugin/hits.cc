#include "opyard/plugin/hits.h"

#include "opyard/base/thread_place.h"
#include "opyard/dispatch/operator_entry.h"
#include "opyard/dispatch/pin.h"

namespace opyard::plugin {
namespace {

constexpr size_t kPlaces = 16;       // that threads share out
constexpr size_t kGenerations = 64;  // counted apart; a later one takes the place of one long gone

}  // namespace

class HitCounter::Watcher final : public Observer {
 public:
  void enter(const CallEvent& event) noexcept override {
    const Root* root = thread_state.root;
    if (!root || event.op.index() >= root->size) return;  // of another dispatcher
    const OperatorTable* table = root->table(event.op.index());
    if (table->op != &event.op) return;
    const Kernel& kernel = table->kernel(event.keys);
    if (kernel.generation == 0) return;
    Count& count = places_[thread_place(kPlaces)][kernel.generation % kGenerations];
    if (count.generation.exchange(kernel.generation, std::memory_order_relaxed) !=
        kernel.generation) {
      count.typed.store(0, std::memory_order_relaxed);
      count.boxed.store(0, std::memory_order_relaxed);
    }
    const bool typed_call =
        event.label == CallLabel::kCall || event.label == CallLabel::kRedispatch;
    (typed_call && kernel.typed ? count.typed : count.boxed)
        .fetch_add(1, std::memory_order_relaxed);
  }

  Hits of(uint64_t generation) const noexcept {
    Hits sum;
    for (const auto& place : places_) {
      const Count& count = place[generation % kGenerations];
      if (count.generation.load(std::memory_order_relaxed) != generation) continue;
      sum.typed += count.typed.load(std::memory_order_relaxed);
      sum.boxed += count.boxed.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct Count {
    std::atomic<uint64_t> generation{0};
    std::atomic<uint64_t> typed{0};
    std::atomic<uint64_t> boxed{0};
  };
  std::array<std::array<Count, kGenerations>, kPlaces> places_;
};

HitCounter::HitCounter() : watcher_(std::make_shared<Watcher>()) {}

void HitCounter::set_counting(bool on) {
  const std::lock_guard lock(mutex_);
  if (on == counting_) return;
  observation_.reset();
  if (on) observation_ = observe_calls(watcher_);
  counting_ = on;
}

HitCounter::Hits HitCounter::of(uint64_t generation) const noexcept {
  return watcher_->of(generation);
}

}  // namespace opyard::plugin
