#include "rpc/admin_jobs.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "opyard/base/check.h"

namespace opyard::daemon {
namespace {

// Changes and questions do not take each other's places, nor does one kind of question all.
constexpr size_t kMost = 32;
constexpr size_t kMostOfOneName = 8;

using Clock = std::chrono::steady_clock;

struct Job {
  std::string name;
  std::string place;
  Clock::time_point since;
};

uint64_t age_ms(const Job& job) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - job.since).count());
}

}  // namespace

struct AdminJobs::State {
  mutable std::mutex mutex;
  mutable std::condition_variable ended;
  std::list<Job> jobs;    // guarded by mutex
  bool refusing = false;  // guarded by mutex
};

// Takes the lock once: jobs see what was made before this. That gRPC orders its threads behind the
// one that starts a server is nothing that ThreadSanitizer sees.
AdminJobs::AdminJobs() : state_(std::make_shared<State>()) {
  const std::lock_guard lock(state_->mutex);
}

AdminJobs::~AdminJobs() {
  refuse_new();
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [this] { return state_->jobs.empty(); });
}

void AdminJobs::start(const std::string& name, const std::string& place, Work work) {
  const std::lock_guard lock(state_->mutex);
  OPYARD_CHECK(!state_->refusing, kUnavailable, "the daemon is draining and begins nothing new");
  size_t alike = 0;
  size_t same = 0;
  for (const Job& job : state_->jobs) {
    alike += job.place.empty() == place.empty();
    same += !name.empty() && job.name == name;
    OPYARD_CHECK(place.empty() || job.place != place, kAborted, "'", job.name,
                 "' has been under way for ", age_ms(job),
                 " ms; wait for its end (opyard plugin list shows it), then repeat");
  }
  OPYARD_CHECK(alike < kMost && same < kMostOfOneName, kResourceExhausted,
               alike < kMost ? same : alike, " such admin calls are under way, which is the most; ",
               "wait for one to end");
  const auto here = state_->jobs.insert(state_->jobs.end(), {name, place, Clock::now()});
  try {
    std::thread([state = state_, here, work = std::move(work)]() mutable {
      Rest rest = work();
      {
        const std::lock_guard held(state->mutex);
        here->name.clear();
        here->place.clear();
      }
      rest();
      rest = nullptr;  // what they hold goes before the end is told
      work = nullptr;
      const std::lock_guard held(state->mutex);
      state->jobs.erase(here);
      state->ended.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    state_->jobs.erase(here);
    raise(Code::kResourceExhausted, str_cat("no thread for an admin call: ", error.what()));
  }
}

std::vector<AdminJobs::UnderWay> AdminJobs::under_way() const {
  std::vector<UnderWay> all;
  const std::lock_guard lock(state_->mutex);
  for (const Job& job : state_->jobs) {
    if (!job.name.empty()) all.push_back({job.name, age_ms(job)});
  }
  return all;
}

void AdminJobs::refuse_new() {
  const std::lock_guard lock(state_->mutex);
  state_->refusing = true;
}

bool AdminJobs::refusing() const {
  const std::lock_guard lock(state_->mutex);
  return state_->refusing;
}

bool AdminJobs::wait(std::chrono::milliseconds patience) const {
  std::unique_lock lock(state_->mutex);
  return state_->ended.wait_for(lock, patience, [this] { return state_->jobs.empty(); });
}

}  // namespace opyard::daemon
