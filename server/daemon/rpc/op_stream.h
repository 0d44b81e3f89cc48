#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>

#include "opyard/runtime/once_signal.h"
#include "opyard/runtime/sessions.h"
#include "opyard/v1/ops.grpc.pb.h"

namespace opyard::daemon {

// One Ops.Stream: reads a frame, lets the session carry it out, writes what was asked for; the next
// frame is read while a reply is written. At most two frames are held, so the network pushes back
// on a client that is ahead.
//
// Events arrive on several threads. Each notes its fact under the lock; then one thread at a time,
// the actor, decides what to start next and starts it outside of the lock. Nothing touches the
// object after Finish has been started by the actor, or after an event has found another thread
// acting.
class OpStream final : public grpc::ServerBidiReactor<v1::OpFrame, v1::OpReply> {
 public:
  // Never null: a stream that cannot be opened is ended with the reason. `draining`, when fired,
  // ends streams with UNAVAILABLE behind the frame under way; it must outlive the server.
  static grpc::ServerBidiReactor<v1::OpFrame, v1::OpReply>* start(
      runtime::Sessions& sessions, runtime::OnceSignal& draining,
      grpc::CallbackServerContext* context);

 private:
  // What a signal may reach: the stream while it lives. Recursive, because ending a stream may
  // finish it on the spot.
  struct Link {
    std::recursive_mutex mutex;
    OpStream* stream = nullptr;
    void end(const grpc::Status& status);
  };
  enum class Action { kNone, kRead, kRun, kWrite, kFinish };

  OpStream(runtime::SessionUse use, std::shared_ptr<runtime::Stream> stream,
           runtime::OnceSignal& draining);
  ~OpStream() override = default;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void begin();
  template <typename Note>
  void advance(Note note);
  Action decide();  // under mutex_
  void run_next();
  void carry_out();

  runtime::SessionUse use_;
  std::shared_ptr<runtime::Stream> stream_;
  runtime::OnceSignal& draining_;
  const std::shared_ptr<Link> link_;
  uint64_t drain_watch_ = 0;
  uint64_t end_watch_ = 0;

  v1::OpFrame frame_;  // belongs to the network while reading_, to the session while running_
  v1::OpReply reply_;  // to the session while running_, to the network while writing_
  runtime::Clock::time_point arrival_;
  int quiet_frames_ = 0;  // since the last reply

  std::mutex mutex_;
  bool acting_ = false;
  bool reading_ = false;
  bool frame_ready_ = false;
  bool running_ = false;
  bool reply_ready_ = false;
  bool writing_ = false;
  bool half_closed_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;
};

}  // namespace opyard::daemon
