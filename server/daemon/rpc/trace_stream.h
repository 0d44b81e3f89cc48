#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>

#include "opyard/runtime/once_signal.h"
#include "opyard/runtime/yard.h"
#include "opyard/v1/ops.grpc.pb.h"

namespace opyard::daemon {

// One Ops.Trace: writes what the session's calls leave in a feed. Calls only fill the feed; the
// yard's Traces visit this stream, and every visit writes at most one reply, when the one before is
// out. A client that does not read when the stream has to end is cut off after half a second.
class TraceStream final : public grpc::ServerBidiReactor<v1::TraceRequest, v1::TraceReply> {
 public:
  // Never null. `draining`, when fired, ends the stream; it and the yard must outlive the server.
  static grpc::ServerBidiReactor<v1::TraceRequest, v1::TraceReply>* start(
      Yard& yard, runtime::OnceSignal& draining, grpc::CallbackServerContext* context);

 private:
  // What visits and signals may reach: the stream while it lives. Recursive, because ending a
  // stream may finish it on the spot.
  struct Link {
    std::recursive_mutex mutex;
    TraceStream* stream = nullptr;
    void visit();
    void end(const grpc::Status& status);
  };
  enum class Action { kNone, kRead, kWrite, kFinish, kCancel };

  TraceStream(Yard& yard, std::shared_ptr<runtime::Session> session, runtime::OnceSignal& draining,
              grpc::CallbackServerContext* context);
  ~TraceStream() override = default;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void begin();
  template <typename Note>
  void advance(Note note);
  Action decide();    // under mutex_
  bool fill_reply();  // under mutex_; false: there is nothing to tell

  Yard& yard_;
  const std::shared_ptr<runtime::Session> session_;
  runtime::OnceSignal& draining_;
  grpc::CallbackServerContext* const context_;
  const std::shared_ptr<Link> link_;
  uint64_t drain_watch_ = 0;
  uint64_t end_watch_ = 0;
  bool asked_ = false;  // reads come one after the other

  v1::TraceRequest request_;  // belongs to the network while reading_
  v1::TraceReply reply_;      // to the network while writing_

  std::mutex mutex_;
  std::unique_ptr<runtime::Following> following_;
  bool acting_ = false;
  bool want_read_ = true;
  bool started_ = false;  // the first reply has been filled
  bool writing_ = false;
  bool half_closed_ = false;
  bool finished_ = false;
  int visits_since_end_ = 0;
  std::optional<grpc::Status> end_;
};

}  // namespace opyard::daemon
