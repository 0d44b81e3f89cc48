#pragma once

#include <memory>

#include "opyard/runtime/sessions.h"
#include "opyard/v1/ops.grpc.pb.h"
#include "rpc/actor_stream.h"

namespace opyard::daemon {

// One Ops.Stream: reads a frame, lets the session carry it out, writes what was asked for; the next
// frame is read while a reply is written. At most two frames are held, so the network pushes back
// on a client that is ahead.
class OpStream final : public ActorStream<v1::OpFrame, v1::OpReply> {
 public:
  // Never null: a stream that cannot be opened is ended with the reason. `draining`, when fired,
  // ends streams with UNAVAILABLE behind the frame under way; it must outlive the server.
  static Reactor* start(runtime::Sessions& sessions, runtime::OnceSignal& draining,
                        grpc::CallbackServerContext* context);

 private:
  OpStream(runtime::SessionUse use, std::shared_ptr<runtime::Stream> stream,
           runtime::OnceSignal& draining);
  ~OpStream() override = default;

  Action decide() override;
  void start_action(Action action) override;
  void cancelled() override { frame_ready_ = false; }
  void OnReadDone(bool ok) override;

  void run_next();
  void carry_out();

  runtime::SessionUse use_;
  std::shared_ptr<runtime::Stream> stream_;

  v1::OpFrame frame_;  // belongs to the network while reading_, to the session while running_
  v1::OpReply reply_;  // to the session while running_, to the network while writing_
  runtime::Clock::time_point arrival_;
  int quiet_frames_ = 0;  // since the last reply

  bool reading_ = false;  // guarded by mutex_, as all below
  bool frame_ready_ = false;
  bool running_ = false;
  bool reply_ready_ = false;
  bool half_closed_ = false;
  bool finished_ = false;
};

}  // namespace opyard::daemon
