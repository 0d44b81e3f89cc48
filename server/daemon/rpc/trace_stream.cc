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

}  // namespace

TraceStream::Reactor* TraceStream::start(Yard& yard, runtime::OnceSignal& draining,
                                         grpc::CallbackServerContext* context) {
  try {
    // The session itself, not its use: who follows does not keep it from expiring.
    auto* reactor =
        new TraceStream(yard, find_session(yard.sessions(), *context).shared(), draining, context);
    reactor->begin();
    return reactor;
  } catch (...) {
    return refused(current_status());
  }
}

TraceStream::TraceStream(Yard& yard, std::shared_ptr<runtime::Session> session,
                         runtime::OnceSignal& draining, grpc::CallbackServerContext* context)
    : ActorStream(draining, session->ended()),
      yard_(yard),
      session_(std::move(session)),
      context_(context) {}

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
    return Action::kOther;
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

void TraceStream::start_action(Action action) {
  switch (action) {
    case Action::kRead:
      return StartRead(&request_);
    case Action::kWrite:
      return StartWrite(&reply_);
    default:
      return context_->TryCancel();
  }
}

void TraceStream::release() {
  std::unique_ptr<runtime::Following> over;
  const std::lock_guard lock(mutex_);
  over.swap(following_);
}

void TraceStream::OnReadDone(bool ok) {
  std::unique_ptr<runtime::Following> begun;
  std::optional<grpc::Status> failed;
  try {
    OPYARD_CHECK(!ok || !asked_, kInvalidArgument,
                 "a trace takes one request; half-close to end it, open another to change it");
    asked_ = true;
    if (ok) {
      begun = yard_.traces().follow(*session_, request_.op_prefix(), [this, link = link_] {
        link->advance([this] {
          if (end_) ++visits_since_end_;
        });
      });
    }
  } catch (...) {
    failed = current_status();
  }
  advance([&] {
    if (begun && !finished_) following_ = std::move(begun);
    if (!ok) {
      half_closed_ = true;
      if (following_) following_->stop();  // what is in the feed is all there will be
    }
    want_read_ = ok;
    if (failed) end(*failed);
  });
}

}  // namespace opyard::daemon
