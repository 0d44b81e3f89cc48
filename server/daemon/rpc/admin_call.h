#pragma once

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "rpc/admin_jobs.h"
#include "rpc/status.h"

namespace opyard::daemon {

// A unary call whose work runs as an admin job. It ends with the work, or before, when it is
// cancelled or its deadline passes; the work then goes on, and what it says is dropped.
class AdminCall final : public grpc::ServerUnaryReactor {
 public:
  // What the work and the call share: whoever takes the call ends it.
  class Link {
   public:
    explicit Link(AdminCall* call) : call_(call) {}
    // Null when the call has been ended.
    AdminCall* take();
    // True when the call was ended within `time`.
    bool wait_for_end(std::chrono::milliseconds time);

   private:
    std::mutex mutex_;
    std::condition_variable ended_;
    AdminCall* call_;  // guarded by mutex_
  };

  // Fills the reply; runs only while the call lives.
  using Answer = std::function<void()>;
  // Runs on the job's thread; what it raises ends the call.
  using Work = std::function<Answer(Link&)>;

  // `name` and `place` as AdminJobs::start has them; its errors end the call.
  static grpc::ServerUnaryReactor* start(AdminJobs& jobs, const std::string& name,
                                         const std::string& place, Work work);

 private:
  AdminCall() : link_(std::make_shared<Link>(this)) {}
  void OnCancel() override;
  void OnDone() override { delete this; }

  const std::shared_ptr<Link> link_;
};

}  // namespace opyard::daemon
