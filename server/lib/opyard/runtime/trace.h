#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "opyard/dispatch/observer.h"
#include "opyard/runtime/budget.h"

// Following the calls of a session while they run. Whoever follows sees one session: the one that
// pays for the memory of the calling thread, which goes along with every hop to another thread.

namespace opyard::runtime {

class Session;

// One entry into the dispatcher. Operators of the global dispatcher live as long as the process.
struct TracedCall {
  const OperatorEntry* op = nullptr;
  DispatchKey key = DispatchKey::Undefined;
  CallLabel label = CallLabel::kCall;
  uint32_t depth = 0;

  // " [call] op=[aten::ones], key=[CPU]"
  std::string text() const { return trace_line(label, *op, key, depth); }
};

struct TraceBatch {
  std::vector<TracedCall> calls;
  uint64_t lost = 0;  // calls after these that found no room
};

// What a session's calls leave for one who follows them: a queue of fixed size. Calls never wait
// for the reader; what finds no room is counted. Any thread.
class TraceFeed final : public Observer {
 public:
  // Keeps calls of operators whose full name starts with `prefix`; the queue is charged to the
  // session: RESOURCE_EXHAUSTED by its quota.
  TraceFeed(IntrusivePtr<SessionBudget> payer, std::string prefix, size_t room);

  void enter(const CallEvent& event) noexcept override;
  bool has_some() const;
  // The oldest, at most `most`; what was lost is told once, with the call before it.
  TraceBatch take(size_t most);

 private:
  const IntrusivePtr<SessionBudget> payer_;
  const std::string prefix_;
  Charge charge_;
  mutable std::mutex mutex_;
  std::vector<TracedCall> ring_;  // guarded by mutex_, as all below
  size_t first_ = 0;
  size_t count_ = 0;
  uint64_t lost_ = 0;
};

// Ends the following when it goes.
class Following {
 public:
  ~Following();
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;
  TraceFeed& feed() { return *feed_; }
  // Nothing more comes into the feed, but for notifications that are under way.
  void stop() noexcept { observation_.reset(); }

 private:
  friend class Traces;
  Following() = default;
  std::shared_ptr<TraceFeed> feed_;
  std::shared_ptr<void> places_;  // counted against the limits
  Observation observation_;
};

// All who follow sessions of one yard. While somebody does, a thread calls on each of them every
// few milliseconds, so that calls need not wake anybody. Any thread.
class Traces {
 public:
  Traces() = default;
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;
  // No visit begins or is under way after this.
  ~Traces();

  // Follows from now on. `visit` is called on the thread of this object until nobody else holds the
  // function's state: give it something that outlives what it looks at. RESOURCE_EXHAUSTED: too
  // many follow this session or this yard, or the session's quota is full.
  std::unique_ptr<Following> follow(Session& session, std::string prefix,
                                    std::function<void()> visit = {});
  int count() const;

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::weak_ptr<std::function<void()>>> visits_;  // guarded by mutex_
  std::shared_ptr<std::atomic<int>> following_ = std::make_shared<std::atomic<int>>(0);
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // guarded by mutex_ until it is joined
};

}  // namespace opyard::runtime
