#include "rpc/trace_stream.h"

#include <utility>

#include "opyard/base/check.h"
#include "rpc/call_context.h"
#include "rpc/encode.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

constexpr size_t kLinesPerReply = 512;
constexpr int kPatienceInVisits = 25;

class RefusedTrace final : public grpc::ServerBidiReactor<v1::TraceRequest, v1::TraceReply> {
 public:
  explicit RefusedTrace(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<v1::TraceRequest, v1::TraceReply>* TraceStream::start(
    Yard& yard, runtime::OnceSignal& draining, grpc::CallbackServerContext* context) {
  try {
    // The session itself, not its use: who follows does not keep it from expiring.
    auto* reactor =
        new TraceStream(yard, find_session(yard.sessions(), *context).shared(), draining, context);
    reactor->begin();
    return reactor;
  } catch (...) {
    return new RefusedTrace(current_status());
  }
}

TraceStream::TraceStream(Yard& yard, std::shared_ptr<runtime::Session> session,
                         runtime::OnceSignal& draining, grpc::CallbackServerContext* context)
    : yard_(yard),
      session_(std::move(session)),
      draining_(draining),
      context_(context),
      link_(std::make_shared<Link>()) {
  link_->stream = this;
}

void TraceStream::begin() {
  const std::shared_ptr<Link> link = link_;
  drain_watch_ = draining_.watch([link] {
    link->end(to_status(runtime::CallError(
        Code::kUnavailable, "the daemon is draining; connect again later", "DRAINING")));
  });
  end_watch_ = session_->ended().watch([link] {
    link->end(
        to_status(runtime::CallError(Code::kAborted, "the session has ended", "SESSION_LOST")));
  });
  advance([] {});
}

void TraceStream::Link::visit() {
  const std::lock_guard hold(mutex);
  if (stream == nullptr) return;
  stream->advance([this] {
    if (stream->end_) ++stream->visits_since_end_;
  });
}

void TraceStream::Link::end(const grpc::Status& status) {
  const std::lock_guard hold(mutex);
  if (stream == nullptr) return;
  stream->advance([this, &status] {
    if (!stream->end_) stream->end_ = status;
  });
}

bool TraceStream::fill_reply() {
  if (!following_) return false;
  if (!started_) {
    started_ = true;
    reply_.set_started(true);
    return true;
  }
  if (!following_->feed().has_some()) return false;
  reply_.Clear();
  const runtime::TraceBatch batch = following_->feed().take(kLinesPerReply);
  for (const runtime::TracedCall& call : batch.calls) encode_traced(call, reply_.add_lines());
  reply_.set_lost(batch.lost);
  return true;
}

TraceStream::Action TraceStream::decide() {
  if (finished_) return Action::kNone;
  if (writing_) {
    if (!end_ || visits_since_end_ != kPatienceInVisits) return Action::kNone;
    ++visits_since_end_;
    return Action::kCancel;
  }
  if (visits_since_end_ < kPatienceInVisits && fill_reply()) {
    writing_ = true;
    return Action::kWrite;
  }
  if (!end_ && half_closed_) end_ = grpc::Status::OK;
  if (end_) {
    finished_ = true;
    return Action::kFinish;
  }
  if (want_read_) {
    want_read_ = false;
    return Action::kRead;
  }
  return Action::kNone;
}

template <typename Note>
void TraceStream::advance(Note note) {
  {
    const std::lock_guard lock(mutex_);
    note();
    if (acting_) return;
    acting_ = true;
  }
  while (true) {
    Action action = Action::kNone;
    grpc::Status status;
    std::unique_ptr<runtime::Following> over;  // its places are free before the client is told
    {
      const std::lock_guard lock(mutex_);
      action = decide();
      if (action == Action::kNone) {
        acting_ = false;
        return;
      }
      if (action == Action::kFinish) {
        status = *end_;
        over = std::move(following_);
      }
    }
    switch (action) {
      case Action::kRead:
        StartRead(&request_);
        break;
      case Action::kWrite:
        StartWrite(&reply_);
        break;
      case Action::kCancel:
        context_->TryCancel();
        break;
      case Action::kFinish:
        over.reset();
        Finish(status);
        return;
      case Action::kNone:
        break;
    }
  }
}

void TraceStream::OnReadDone(bool ok) {
  std::unique_ptr<runtime::Following> begun;
  std::optional<grpc::Status> refused;
  try {
    OPYARD_CHECK(!ok || !asked_, kInvalidArgument,
                 "a trace takes one request; half-close to end it, open another to change it");
    asked_ = true;
    if (ok) {
      begun =
          yard_.traces().follow(*session_, request_.op_prefix(), [link = link_] { link->visit(); });
    }
  } catch (...) {
    refused = current_status();
  }
  advance([&] {
    if (begun && !finished_) following_ = std::move(begun);
    if (!ok) {
      half_closed_ = true;
      if (following_) following_->stop();  // what is in the feed is all there will be
    }
    want_read_ = ok;
    if (refused && !end_) end_ = std::move(refused);
  });
}

void TraceStream::OnWriteDone(bool ok) {
  advance([this, ok] {
    writing_ = false;
    if (!ok && !end_) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone");
  });
}

void TraceStream::OnCancel() {
  advance([this] {
    if (!end_) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
  });
}

void TraceStream::OnDone() {
  draining_.unwatch(drain_watch_);
  session_->ended().unwatch(end_watch_);
  {
    const std::lock_guard lock(link_->mutex);
    link_->stream = nullptr;
  }
  delete this;
}

}  // namespace opyard::daemon
