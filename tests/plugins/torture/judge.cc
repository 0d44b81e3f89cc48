#include "tests/plugins/torture/judge.h"

#include <charconv>

#include "opyard/base/check.h"

namespace opyard::torture {

uint64_t build_in(const std::string& message) {
  const std::string_view before = "told to fail by build ";
  const size_t at = message.find(before);
  uint64_t build = 0;
  if (at == std::string::npos) return build;
  std::from_chars(message.data() + at + before.size(), message.data() + message.size(), build);
  return build;
}

void Judge::begin(size_t slot) {
  const History& history = state_.histories[slot];
  View& view = views_[slot];
  if (view.present.version != history.version()) view.present = history.present();
}

void Judge::saw(size_t slot, const Seen& seen) {
  View& view = views_[slot];
  state_.judged.fetch_add(1, std::memory_order_relaxed);
  if (view.undecided.empty() && seen.build == view.present.build &&
      view.present.ordinal >= view.ordinal &&
      view.present.version == state_.histories[slot].version()) {
    view.ordinal = view.present.ordinal;
    return;
  }
  view.undecided.push_back(seen);
  decide(slot);
}

void Judge::decide() {
  for (size_t slot = 0; slot < kNumSlots; ++slot) decide(slot);
}

// In order, so that a build that is gone again for this thread never comes back.
void Judge::decide(size_t slot) {
  View& view = views_[slot];
  while (!view.undecided.empty()) {
    const Seen seen = view.undecided.front();
    const History::Verdict verdict = state_.histories[slot].judge(seen, &view.ordinal);
    if (verdict == History::Verdict::kUndecided) return;
    view.undecided.pop_front();
    if (verdict == History::Verdict::kRight) continue;
    state_.failures.add(str_cat("wrong: ", kSlots[slot], " was answered by build ", seen.build,
                                ", which was not active during the call of ",
                                (seen.end_ns - seen.begin_ns) / 1000, " us"));
  }
}

}  // namespace opyard::torture
