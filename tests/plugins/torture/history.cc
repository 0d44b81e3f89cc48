#include "tests/plugins/torture/history.h"

namespace opyard::torture {

void History::begin_change() {
  const std::lock_guard lock(mutex_);
  changing_since_ = now_ns();
  version_.fetch_add(1, std::memory_order_release);
}

void History::end_change(uint64_t build_now) {
  const std::lock_guard lock(mutex_);
  Stay& last = stays_.back();
  if (build_now != last.build) {
    last.to_ns = now_ns();
    stays_.push_back({build_now, last.ordinal + 1, *changing_since_, UINT64_MAX});
    if (stays_.size() > kRemembered) stays_.pop_front();
  }
  changing_since_.reset();
  version_.fetch_add(1, std::memory_order_release);
}

History::Present History::present() const {
  const std::lock_guard lock(mutex_);
  return {version(), stays_.back().build, stays_.back().ordinal};
}

History::Verdict History::judge(const Seen& seen, uint64_t* ordinal) const {
  const std::lock_guard lock(mutex_);
  // Backwards to the first stay that is too old; the oldest that fits is taken.
  const Stay* fits = nullptr;
  for (auto stay = stays_.rbegin(); stay != stays_.rend(); ++stay) {
    if (stay->ordinal < *ordinal || stay->to_ns < seen.begin_ns) break;
    if (stay->build == seen.build && stay->from_ns <= seen.end_ns) fits = &*stay;
  }
  if (fits) {
    *ordinal = fits->ordinal;
    return Verdict::kRight;
  }
  const bool may_come = changing_since_ && *changing_since_ <= seen.end_ns;
  return may_come ? Verdict::kUndecided : Verdict::kWrong;
}

}  // namespace opyard::torture
