#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "opyard/runtime/limits.h"
#include "opyard/runtime/session.h"

namespace opyard::runtime {

// All sessions of a yard by their tokens. Any thread.
class Sessions {
 public:
  // `quotas` with every field filled in. The executor must outlive this object.
  Sessions(const Quotas& quotas, Executor& executor);
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  // Closes all sessions.
  ~Sessions();

  // RESOURCE_EXHAUSTED: too many sessions. INVALID_ARGUMENT: a wish above what the yard allows.
  // UNAVAILABLE: after refuse_new().
  std::shared_ptr<Session> open(const SessionWish& wish);

  // UNAUTHENTICATED for bytes that are no token, NOT_FOUND for a token without a living session.
  SessionUse find(std::string_view token) const;

  // `done` gets what was freed, once everything queued before has run. Errors as of find().
  void close(std::string_view token, std::function<void(Freed)> done);

  void refuse_new();
  size_t size() const;
  const Ledger& ledger() const { return *ledger_; }
  // Operator calls of all sessions.
  CallTotals call_totals() const noexcept { return counts_->totals(); }
  const Quotas& quotas() const { return quotas_; }

 private:
  std::shared_ptr<Session> look_up(std::string_view token) const;
  void sweep();

  const Quotas quotas_;
  Executor& executor_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<CallCounts> counts_ = std::make_shared<CallCounts>();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::unordered_map<Token, std::shared_ptr<Session>, TokenHash> sessions_;  // guarded by mutex_
  uint32_t next_number_ = 1;                                                 // guarded by mutex_
  bool refusing_ = false;                                                    // guarded by mutex_
  bool stopping_ = false;                                                    // guarded by mutex_
  std::thread sweeper_;  // closes sessions whose lease is over
};

}  // namespace opyard::runtime
