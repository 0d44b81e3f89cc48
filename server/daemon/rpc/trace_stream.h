#pragma once

#include <memory>

#include "opyard/runtime/yard.h"
#include "opyard/v1/ops.grpc.pb.h"
#include "rpc/actor_stream.h"

namespace opyard::daemon {

// One Ops.Trace: writes what the session's calls leave in a feed. Calls only fill the feed; the
// yard's Traces visit this stream, and every visit writes at most one reply, when the one before is
// out. A client that does not read when the stream has to end is cut off after half a second.
class TraceStream final : public ActorStream<v1::TraceRequest, v1::TraceReply> {
 public:
  // Never null. `draining`, when fired, ends the stream; it and the yard must outlive the server.
  static Reactor* start(Yard& yard, runtime::OnceSignal& draining,
                        grpc::CallbackServerContext* context);

 private:
  TraceStream(Yard& yard, std::shared_ptr<runtime::Session> session, runtime::OnceSignal& draining,
              grpc::CallbackServerContext* context);
  ~TraceStream() override = default;

  Action decide() override;
  void start_action(Action action) override;
  void release() override;
  void OnReadDone(bool ok) override;

  bool fill_reply();  // under mutex_; false: there is nothing to tell

  Yard& yard_;
  const std::shared_ptr<runtime::Session> session_;
  grpc::CallbackServerContext* const context_;
  bool asked_ = false;  // reads come one after the other

  v1::TraceRequest request_;  // belongs to the network while reading_
  v1::TraceReply reply_;      // to the network while writing_

  std::unique_ptr<runtime::Following> following_;  // guarded by mutex_, as all below
  bool want_read_ = true;
  bool started_ = false;  // the first reply has been filled
  bool half_closed_ = false;
  bool finished_ = false;
  int visits_since_end_ = 0;
};

}  // namespace opyard::daemon
