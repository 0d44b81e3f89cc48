#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "opyard/core/generator.h"
#include "opyard/runtime/budget.h"
#include "opyard/runtime/call_counts.h"
#include "opyard/runtime/executor.h"
#include "opyard/runtime/once_signal.h"
#include "opyard/runtime/stream.h"
#include "opyard/runtime/tensor_store.h"
#include "opyard/runtime/token.h"

namespace opyard::runtime {

// What a client may wish for; 0 stands for the yard's default.
struct SessionWish {
  std::string label;
  uint32_t lease_seconds = 0;
  uint64_t bytes = 0;
  uint64_t handles = 0;
};

struct Freed {
  uint64_t handles = 0;
  uint64_t bytes = 0;
};

// One client's values, with its generator, quotas and thread state. Made by Sessions::open.
//
// Everything that touches values runs as a task of `queue()`, so one thing at a time. The members
// marked [task] may be called from such a task only, all others from any thread.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionWish wish, uint32_t number, Executor& executor, std::shared_ptr<Ledger> ledger,
          std::shared_ptr<CallCounts> counts);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const Token& token() const { return token_; }
  uint32_t number() const { return number_; }
  const SessionWish& terms() const { return terms_; }  // the wishes as they were granted
  const SessionBudget& budget() const { return *budget_; }
  IntrusivePtr<SessionBudget> shared_budget() const { return budget_; }
  // Of the whole yard.
  CallCounts& call_counts() { return *counts_; }
  // How many follow this session's calls; kept by Traces.
  const std::shared_ptr<std::atomic<int>>& followers() const { return followers_; }

  // Runs `work` when its turn comes, or at once on this thread (see SerialQueue). The task must not
  // throw. RESOURCE_EXHAUSTED when too many wait. ABORTED (reason: session lost) when the session
  // is closed.
  void run(Task work);

  // A new stream with a number of its own. RESOURCE_EXHAUSTED when too many are open, or when all
  // 65,535 numbers of this session are used up. Drop the pointer to close it.
  std::shared_ptr<Stream> open_stream();
  // What unary calls and uploads use: stream 0.
  Stream& calls() { return calls_; }

  TensorStore& store() { return store_; }  // [task]
  Generator& generator() { return *generator_; }
  // Carries out a frame of one of this session's streams. Never throws for what the frame says.
  // [task]
  Outcome execute(Stream& stream, const Frame& frame);
  // New memory for an upload of `bytes` bytes, charged to this session. INVALID_ARGUMENT when sizes
  // and dtype do not make as many; RESOURCE_EXHAUSTED by quota.  [task]
  Tensor new_tensor(const std::vector<int64_t>& sizes, std::string_view dtype,
                    std::string_view device, uint64_t bytes);
  // A tensor of this session with its elements on the host: itself, or a copy that is charged to
  // the session.  [task]
  Tensor readable(const Tensor& tensor);
  // Binds an upload all of whose bytes are there.  [task]
  void bind_upload(Id id, Tensor tensor);
  // Notes why an upload came to nothing.  [task]
  void poison_upload(Id id, const Error& error);

  // Fired when the session ends.
  OnceSignal& ended() { return ended_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }

 private:
  friend class Sessions;
  friend class SessionUse;
  // Refuses all further work, fires ended(), frees the values behind what is running. `done` gets
  // what was freed.
  void close(std::function<void(Freed)> done);
  bool expired(Clock::time_point now) const;

  const Token token_ = Token::make();
  const uint32_t number_;
  const SessionWish terms_;
  const IntrusivePtr<SessionBudget> budget_;
  const IntrusivePtr<Generator> generator_;
  const std::shared_ptr<CallCounts> counts_;
  SerialQueue queue_;
  TensorStore store_;  // tasks only
  Stream calls_;       // tasks only

  std::atomic<bool> closed_{false};
  std::atomic<int> users_{0};
  std::atomic<Clock::rep> last_used_;
  std::atomic<int> open_streams_{0};
  std::atomic<uint32_t> next_stream_{1};
  const std::shared_ptr<std::atomic<int>> followers_ = std::make_shared<std::atomic<int>>(0);
  OnceSignal ended_;
};

// Keeps a session from expiring while a call or stream uses it.
class SessionUse {
 public:
  SessionUse() = default;
  explicit SessionUse(std::shared_ptr<Session> session);
  SessionUse(SessionUse&& other) noexcept = default;
  SessionUse& operator=(SessionUse&& other) noexcept;
  ~SessionUse();

  Session* operator->() const { return session_.get(); }
  Session& operator*() const { return *session_; }
  explicit operator bool() const { return session_ != nullptr; }
  const std::shared_ptr<Session>& shared() const { return session_; }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace opyard::runtime
