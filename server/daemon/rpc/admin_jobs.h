#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace opyard::daemon {

// Work that may take long or never end, each piece on a thread of its own: a plugin that hangs must
// not take the threads that serve the network with it. Any thread.
class AdminJobs {
 public:
  AdminJobs();
  AdminJobs(const AdminJobs&) = delete;
  AdminJobs& operator=(const AdminJobs&) = delete;
  // Waits for all work, however long it takes.
  ~AdminJobs();

  // What is left to do once the work itself is over and its place is free: answering.
  using Rest = std::function<void()>;
  using Work = std::function<Rest()>;

  // `name` ("swap cpu") is what under_way() tells; empty: not told. Of one non-empty `place` one
  // piece of work at a time: ABORTED, naming the one that is under way. RESOURCE_EXHAUSTED: too
  // many. UNAVAILABLE: after refuse_new(). `work` must not throw.
  void start(const std::string& name, const std::string& place, Work work);

  struct UnderWay {
    std::string name;
    uint64_t age_ms = 0;
  };
  std::vector<UnderWay> under_way() const;

  void refuse_new();
  bool refusing() const;
  // False when some is still under way after `patience`.
  bool wait(std::chrono::milliseconds patience) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace opyard::daemon
