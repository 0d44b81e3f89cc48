#include "rpc/op_stream.h"

#include <utility>

#include "opyard/base/check.h"
#include "rpc/call_context.h"
#include "rpc/run_frame.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

constexpr int kQuietFramesPerAck = 16;
// Messages that grew beyond this are given back, so that an idle stream stays small.
constexpr size_t kKeptMessageBytes = 32u << 10;

class RefusedStream final : public grpc::ServerBidiReactor<v1::OpFrame, v1::OpReply> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

template <typename Message>
void reuse(Message* message) {
  if (message->SpaceUsedLong() > kKeptMessageBytes) {
    Message().Swap(message);
  } else {
    message->Clear();
  }
}

}  // namespace

grpc::ServerBidiReactor<v1::OpFrame, v1::OpReply>* OpStream::start(
    runtime::Sessions& sessions, runtime::OnceSignal& draining,
    grpc::CallbackServerContext* context) {
  try {
    runtime::SessionUse use = find_session(sessions, *context);
    std::shared_ptr<runtime::Stream> stream = use->open_stream();
    auto* reactor = new OpStream(std::move(use), std::move(stream), draining);
    reactor->begin();
    return reactor;
  } catch (...) {
    return new RefusedStream(current_status());
  }
}

OpStream::OpStream(runtime::SessionUse use, std::shared_ptr<runtime::Stream> stream,
                   runtime::OnceSignal& draining)
    : use_(std::move(use)),
      stream_(std::move(stream)),
      draining_(draining),
      link_(std::make_shared<Link>()) {
  link_->stream = this;
  reply_.mutable_opened()->set_stream(stream_->number());
  reply_ready_ = true;
}

void OpStream::begin() {
  // A signal that has been fired already calls back here and now, before anything is under way.
  const std::shared_ptr<Link> link = link_;
  drain_watch_ = draining_.watch([link] {
    link->end(to_status(runtime::CallError(
        Code::kUnavailable, "the daemon is draining; connect again later", "DRAINING")));
  });
  end_watch_ = use_->ended().watch([link] {
    link->end(to_status(runtime::CallError(Code::kAborted, "the session is closed; open a new one",
                                           "SESSION_LOST")));
  });
  advance([] {});
}

void OpStream::Link::end(const grpc::Status& status) {
  const std::lock_guard hold(mutex);
  if (stream == nullptr) return;
  stream->advance([this, &status] {
    if (!stream->end_) stream->end_ = status;
  });
}

OpStream::Action OpStream::decide() {
  if (finished_) return Action::kNone;
  if (!end_ && half_closed_ && !frame_ready_ && !running_ && !reply_ready_) {
    end_ = grpc::Status::OK;
  }
  if (reply_ready_ && !writing_) {
    reply_ready_ = false;
    writing_ = true;
    return Action::kWrite;
  }
  if (end_) {
    if (running_ || writing_ || reply_ready_) return Action::kNone;
    finished_ = true;
    return Action::kFinish;
  }
  if (frame_ready_ && !running_ && !writing_ && !reply_ready_) {
    frame_ready_ = false;
    running_ = true;
    return Action::kRun;
  }
  if (!reading_ && !frame_ready_ && !running_ && !half_closed_) {
    reading_ = true;
    return Action::kRead;
  }
  return Action::kNone;
}

template <typename Note>
void OpStream::advance(Note note) {
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
    switch (action) {
      case Action::kRead:
        reuse(&frame_);
        StartRead(&frame_);
        break;
      case Action::kRun:
        run_next();
        break;
      case Action::kWrite:
        StartWrite(&reply_);
        break;
      case Action::kFinish:
        Finish(status);
        return;
      case Action::kNone:
        break;
    }
  }
}

void OpStream::run_next() {
  try {
    use_->run([this] { carry_out(); });
  } catch (...) {
    const grpc::Status status = current_status();
    advance([this, &status] {
      running_ = false;
      if (!end_) end_ = status;
    });
  }
}

void OpStream::carry_out() {
  bool reply = false;
  std::optional<grpc::Status> broken;
  try {
    reuse(&reply_);
    reply = run_frame(*use_, *stream_, frame_, arrival_, std::nullopt, &reply_);
  } catch (...) {
    broken = current_status();
  }
  quiet_frames_ = reply ? 0 : quiet_frames_ + 1;
  if (quiet_frames_ == kQuietFramesPerAck) {
    quiet_frames_ = 0;
    reply = true;
  }
  advance([&] {
    running_ = false;
    reply_ready_ = reply && !broken;
    if (broken && !end_) end_ = std::move(broken);
  });
}

void OpStream::OnReadDone(bool ok) {
  if (ok) arrival_ = runtime::Clock::now();
  advance([this, ok] {
    reading_ = false;
    (ok ? frame_ready_ : half_closed_) = true;
  });
}

void OpStream::OnWriteDone(bool ok) {
  advance([this, ok] {
    writing_ = false;
    if (!ok && !end_) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone");
  });
}

void OpStream::OnCancel() {
  advance([this] {
    frame_ready_ = false;  // what has not been started will not be
    if (!end_) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
  });
}

void OpStream::OnDone() {
  draining_.unwatch(drain_watch_);
  use_->ended().unwatch(end_watch_);
  {
    const std::lock_guard lock(link_->mutex);
    link_->stream = nullptr;
  }
  delete this;
}

}  // namespace opyard::daemon
