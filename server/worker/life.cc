#include "life.h"

#include "leftovers.h"
#include "opyard/base/check.h"
#include "opyard/plugin/host.h"
#include "opyard/plugin/lint.h"
#include "ready.h"

namespace opyard::worker {
namespace {

using plugin::GenerationInfo;
using plugin::Host;
using plugin::State;
using plugin::Verdict;

void judge_leftovers(const std::string& path, const Belongings& before, Verdict* verdict) {
  Leftovers left = compare(before, look_around());
  if (!verdict->left_mapped.empty()) {  // its control thread is ours, and stays with it
    std::erase_if(left.things,
                  [](const std::string& thing) { return thing.starts_with("the thread opyard-"); });
  }
  verdict->leftovers = std::move(left.things);
  // Libraries that stay may well keep keys; destructors in the plugin's own code stop its
  // unmapping.
  if (left.keys > 0 && plugin::lint(path).pinned_dependencies.empty()) {
    verdict->leftovers.push_back(
        str_cat(left.keys, left.keys == 1 ? " thread-specific key" : " thread-specific keys",
                " (pthread_key_create)"));
  }
}

}  // namespace

Verdict live(const std::string& path, const std::function<void(std::string_view)>& step) {
  Verdict verdict;
  try {
    Host& host = get_ready();
    const Belongings before = look_around();
    step("loading it");
    const std::string name = host.load(path, unprobed()).slot;
    verdict.description = host.describe(name);
    step("unloading it");
    host.unload(name);
    host.settle(host.options().patience);
    verdict.lived = true;
    const GenerationInfo end = newest(name);
    if (end.state != State::kClosed) verdict.left_mapped = end.why_not_unloaded;
    step("looking at what it left");
    judge_leftovers(path, before, &verdict);
  } catch (...) {
    verdict.lived = false;
    verdict.problem = current_error().message();
  }
  return verdict;
}

}  // namespace opyard::worker
