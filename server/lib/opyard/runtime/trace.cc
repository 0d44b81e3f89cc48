#include "opyard/runtime/trace.h"

#include <algorithm>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/core/thread_state.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/limits.h"
#include "opyard/runtime/session.h"

namespace opyard::runtime {
namespace {

// How often followers are visited: lines come in handfuls, and a person sees no delay.
constexpr std::chrono::milliseconds kRhythm(20);

// One of at most `most` places; given back with the last owner.
std::shared_ptr<void> take_place(const std::shared_ptr<std::atomic<int>>& taken, uint32_t most,
                                 const char* what) {
  const int before = taken->fetch_add(1);
  const std::shared_ptr<void> place(nullptr, [taken](void*) { taken->fetch_sub(1); });
  OPYARD_CHECK(before < static_cast<int>(most), kResourceExhausted, before, " follow the calls of ",
               what, ", which is the most; end one of them first");
  return place;
}

}  // namespace

TraceFeed::TraceFeed(IntrusivePtr<SessionBudget> payer, std::string prefix, size_t room)
    : payer_(std::move(payer)), prefix_(std::move(prefix)), charge_(payer_) {
  charge_.add(room * sizeof(TracedCall));
  ring_.resize(room);
}

void TraceFeed::enter(const CallEvent& event) noexcept {
  if (thread_state.budget != payer_.get()) return;
  if (&event.op.dispatcher() != &Dispatcher::global()) return;
  if (!event.op.name().starts_with(prefix_)) return;
  const std::lock_guard lock(mutex_);
  // Once lines are lost, all are until the reader comes: it is told between which calls.
  if (lost_ > 0 || count_ == ring_.size()) {
    ++lost_;
    return;
  }
  ring_[(first_ + count_++) % ring_.size()] = {&event.op, event.keys.highest_priority(),
                                               event.label, event.depth};
}

bool TraceFeed::has_some() const {
  const std::lock_guard lock(mutex_);
  return count_ > 0 || lost_ > 0;
}

TraceBatch TraceFeed::take(size_t most) {
  TraceBatch batch;
  const std::lock_guard lock(mutex_);
  const size_t taken = std::min(most, count_);
  batch.calls.reserve(taken);
  for (size_t i = 0; i < taken; ++i) batch.calls.push_back(ring_[(first_ + i) % ring_.size()]);
  first_ = (first_ + taken) % ring_.size();
  count_ -= taken;
  if (count_ == 0) batch.lost = std::exchange(lost_, 0);
  return batch;
}

Following::~Following() { observation_.reset(); }

std::unique_ptr<Following> Traces::follow(Session& session, std::string prefix,
                                          std::function<void()> visit) {
  OPYARD_CHECK(prefix.size() <= kLimits.op_name_bytes, kInvalidArgument,
               "the beginning of an operator's name has at most ", kLimits.op_name_bytes,
               " bytes, got ", prefix.size());
  struct Places {
    std::shared_ptr<void> of_session;
    std::shared_ptr<void> of_yard;
    std::shared_ptr<std::function<void()>> visit;
  };
  auto places = std::make_shared<Places>();
  places->of_session = take_place(session.followers(), kLimits.traces_per_session, "this session");
  places->of_yard = take_place(following_, kLimits.traces, "this daemon's sessions");
  std::unique_ptr<Following> following(new Following);
  following->feed_ =
      std::make_shared<TraceFeed>(session.shared_budget(), std::move(prefix), kLimits.trace_lines);
  if (visit) {
    places->visit = std::make_shared<std::function<void()>>(std::move(visit));
    const std::lock_guard lock(mutex_);
    std::erase_if(visits_, [](const auto& each) { return each.expired(); });
    visits_.push_back(places->visit);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    wake_.notify_all();
  }
  following->places_ = std::move(places);
  following->observation_ = observe_calls(following->feed_);
  return following;
}

Traces::~Traces() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

int Traces::count() const { return following_->load(); }

void Traces::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::erase_if(visits_, [](const auto& each) { return each.expired(); });
    if (visits_.empty()) {
      wake_.wait(lock, [this] { return stopping_ || !visits_.empty(); });
      continue;
    }
    const std::vector<std::weak_ptr<std::function<void()>>> visits = visits_;
    lock.unlock();
    for (const auto& each : visits) {
      if (const auto visit = each.lock()) (*visit)();
    }
    lock.lock();
    wake_.wait_for(lock, kRhythm, [this] { return stopping_; });
  }
}

}  // namespace opyard::runtime
