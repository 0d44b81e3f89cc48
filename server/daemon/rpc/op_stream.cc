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

template <typename Message>
void reuse(Message* message) {
  if (message->SpaceUsedLong() > kKeptMessageBytes) {
    Message().Swap(message);
  } else {
    message->Clear();
  }
}

}  // namespace

OpStream::Reactor* OpStream::start(runtime::Sessions& sessions, runtime::OnceSignal& draining,
                                   grpc::CallbackServerContext* context) {
  try {
    runtime::SessionUse use = find_session(sessions, *context);
    std::shared_ptr<runtime::Stream> stream = use->open_stream();
    auto* reactor = new OpStream(std::move(use), std::move(stream), draining);
    reactor->begin();
    return reactor;
  } catch (...) {
    return refused(current_status());
  }
}

OpStream::OpStream(runtime::SessionUse use, std::shared_ptr<runtime::Stream> stream,
                   runtime::OnceSignal& draining)
    : ActorStream(draining, use->ended()), use_(std::move(use)), stream_(std::move(stream)) {
  reply_.mutable_opened()->set_stream(stream_->number());
  reply_ready_ = true;
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
    return Action::kOther;
  }
  if (!reading_ && !frame_ready_ && !running_ && !half_closed_) {
    reading_ = true;
    return Action::kRead;
  }
  return Action::kNone;
}

void OpStream::start_action(Action action) {
  switch (action) {
    case Action::kRead:
      reuse(&frame_);
      return StartRead(&frame_);
    case Action::kWrite:
      return StartWrite(&reply_);
    default:
      return run_next();
  }
}

void OpStream::run_next() {
  try {
    use_->run([this] { carry_out(); });
  } catch (...) {
    const grpc::Status status = current_status();
    advance([this, &status] {
      running_ = false;
      end(status);
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
    if (broken) end(*broken);
  });
}

void OpStream::OnReadDone(bool ok) {
  if (ok) arrival_ = runtime::Clock::now();
  advance([this, ok] {
    reading_ = false;
    (ok ? frame_ready_ : half_closed_) = true;
  });
}

}  // namespace opyard::daemon
