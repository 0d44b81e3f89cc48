#include "rpc/admin_call.h"

#include <utility>

namespace opyard::daemon {
namespace {

// Returns what ends the call.
AdminJobs::Rest carry_out(const std::shared_ptr<AdminCall::Link>& link,
                          const AdminCall::Work& work) {
  grpc::Status status;
  AdminCall::Answer answer;
  try {
    answer = work(*link);
  } catch (...) {
    status = current_status();
  }
  return [link, status, answer = std::move(answer)] {
    AdminCall* call = link->take();
    if (call == nullptr) return;
    if (answer) answer();
    call->Finish(status);
  };
}

}  // namespace

AdminCall* AdminCall::Link::take() {
  const std::lock_guard lock(mutex_);
  AdminCall* call = std::exchange(call_, nullptr);
  ended_.notify_all();
  return call;
}

bool AdminCall::Link::wait_for_end(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return call_ == nullptr; });
}

grpc::ServerUnaryReactor* AdminCall::start(AdminJobs& jobs, const std::string& name,
                                           const std::string& place, Work work) {
  auto* call = new AdminCall;
  const std::shared_ptr<Link> link = call->link_;  // the call may be over before start returns
  try {
    jobs.start(name, place, [link, work = std::move(work)] { return carry_out(link, work); });
  } catch (...) {
    const grpc::Status status = current_status();
    if (link->take() != nullptr) call->Finish(status);
  }
  return call;
}

void AdminCall::OnCancel() {
  if (link_->take() == nullptr) return;
  Finish(grpc::Status(grpc::StatusCode::CANCELLED,
                      "cancelled; a change that had begun goes on (opyard plugin list)"));
}

}  // namespace opyard::daemon
