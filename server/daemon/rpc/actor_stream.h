#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>

#include "opyard/runtime/once_signal.h"
#include "rpc/status.h"

namespace opyard::daemon {

// A stream in both directions that belongs to a session.
//
// Events arrive on several threads. Each notes its fact under the lock; then one thread at a time,
// the actor, decides what to start next and starts it outside of the lock. Nothing touches the
// object after Finish has been started by the actor, or after an event has found another thread
// acting. The stream ends by itself, with a reason, when the daemon drains or the session ends.
template <typename Request, typename Reply>
class ActorStream : public grpc::ServerBidiReactor<Request, Reply> {
 public:
  using Reactor = grpc::ServerBidiReactor<Request, Reply>;

  // A stream that cannot be opened: ends with the reason.
  static Reactor* refused(const grpc::Status& status) { return new Refused(status); }

 protected:
  // kOther: what only this kind of stream does.
  enum class Action { kNone, kRead, kWrite, kOther, kFinish };

  // What signals may reach: the stream while it lives. Recursive, because ending a stream may
  // finish it on the spot.
  class Link {
   public:
    explicit Link(ActorStream* stream) : stream_(stream) {}
    // advance(note), unless the stream is over.
    template <typename Note>
    void advance(Note note) {
      const std::lock_guard hold(mutex_);
      if (stream_) stream_->advance(note);
    }
    void cut() {
      const std::lock_guard hold(mutex_);
      stream_ = nullptr;
    }

   private:
    std::recursive_mutex mutex_;
    ActorStream* stream_;
  };

  // Both signals must live as long as the stream.
  ActorStream(runtime::OnceSignal& draining, runtime::OnceSignal& session_ended)
      : link_(std::make_shared<Link>(this)), draining_(draining), session_ended_(session_ended) {}

  // What to start next; kFinish only once, with end_ set. Under mutex_.
  virtual Action decide() = 0;
  // Starts it: never kNone or kFinish.
  virtual void start_action(Action action) = 0;
  // Drops what will not be started any more. Under mutex_.
  virtual void cancelled() {}
  // Before the client is told that the stream is over.
  virtual void release() {}

  void begin() {
    // A signal that has been fired already calls back here and now, before anything is under way.
    watch(draining_, &drain_watch_, Code::kUnavailable,
          "the daemon is draining; connect again later", "DRAINING");
    watch(session_ended_, &end_watch_, Code::kAborted, "the session has ended; open a new one",
          "SESSION_LOST");
    advance([] {});
  }

  // Under mutex_; the first reason counts.
  void end(const grpc::Status& status) {
    if (!end_) end_ = status;
  }

  template <typename Note>
  void advance(Note note) {
    {
      const std::lock_guard lock(mutex_);
      note();
      if (acting_) return;
      acting_ = true;
    }
    while (true) {
      Action action = Action::kNone;
      grpc::Status status;
      {
        const std::lock_guard lock(mutex_);
        action = decide();
        if (action == Action::kNone) {
          acting_ = false;
          return;
        }
        if (action == Action::kFinish) status = *end_;
      }
      if (action == Action::kFinish) {
        release();
        this->Finish(status);
        return;
      }
      start_action(action);
    }
  }

  void OnWriteDone(bool ok) final {
    advance([this, ok] {
      writing_ = false;
      if (!ok) end(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"));
    });
  }
  void OnCancel() final {
    advance([this] {
      cancelled();
      end(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled"));
    });
  }
  void OnDone() final {
    draining_.unwatch(drain_watch_);
    session_ended_.unwatch(end_watch_);
    link_->cut();
    delete this;
  }

  const std::shared_ptr<Link> link_;
  std::mutex mutex_;
  bool writing_ = false;             // guarded by mutex_, as all below
  std::optional<grpc::Status> end_;  // why the stream is to end, or has ended

 private:
  class Refused final : public Reactor {
   public:
    explicit Refused(const grpc::Status& status) { this->Finish(status); }
    void OnDone() override { delete this; }
  };

  void watch(runtime::OnceSignal& signal, uint64_t* number, Code code, const char* message,
             const char* reason) {
    *number = signal.watch([this, link = link_, code, message, reason] {
      link->advance([&] { end(to_status(runtime::CallError(code, message, reason))); });
    });
  }

  runtime::OnceSignal& draining_;
  runtime::OnceSignal& session_ended_;
  uint64_t drain_watch_ = 0;
  uint64_t end_watch_ = 0;
  bool acting_ = false;
};

}  // namespace opyard::daemon
