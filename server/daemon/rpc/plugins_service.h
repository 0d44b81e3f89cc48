#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include "opyard/runtime/plugin_control.h"
#include "opyard/v1/plugins.grpc.pb.h"
#include "rpc/admin_call.h"
#include "rpc/admin_jobs.h"

namespace opyard::daemon {

// Plugins: what is loaded, and changes of it. For the admin socket. Any thread.
class PluginsService final : public v1::Plugins::CallbackService {
 public:
  // The control must outlive the service.
  explicit PluginsService(runtime::PluginControl& control) : control_(control) {}
  // Waits for the changes under way.
  ~PluginsService() override = default;

  AdminJobs& jobs() { return jobs_; }
  const AdminJobs& jobs() const { return jobs_; }

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListPluginsRequest* request,
                                 v1::ListPluginsReply* reply) override;
  grpc::ServerUnaryReactor* Load(grpc::CallbackServerContext* context,
                                 const v1::LoadPluginRequest* request,
                                 v1::ChangePluginReply* reply) override;
  grpc::ServerUnaryReactor* Swap(grpc::CallbackServerContext* context,
                                 const v1::SwapPluginRequest* request,
                                 v1::ChangePluginReply* reply) override;
  grpc::ServerUnaryReactor* Unload(grpc::CallbackServerContext* context,
                                   const v1::UnloadPluginRequest* request,
                                   v1::ChangePluginReply* reply) override;
  grpc::ServerUnaryReactor* Rollback(grpc::CallbackServerContext* context,
                                     const v1::RollbackPluginRequest* request,
                                     v1::ChangePluginReply* reply) override;
  grpc::ServerUnaryReactor* Diff(grpc::CallbackServerContext* context,
                                 const v1::DiffPluginRequest* request,
                                 v1::DiffPluginReply* reply) override;
  grpc::ServerUnaryReactor* CountHits(grpc::CallbackServerContext* context,
                                      const v1::CountHitsRequest* request,
                                      v1::ListPluginsReply* reply) override;

 private:
  // Counting is on while somebody counts.
  class Counting;

  void tell(const std::vector<plugin::SlotInfo>& slots, bool with_kernels,
            v1::ListPluginsReply* reply) const;
  void wait_counting(std::chrono::steady_clock::time_point end, AdminCall::Link& link);

  runtime::PluginControl& control_;
  std::mutex counting_mutex_;
  int counting_ = 0;  // guarded by counting_mutex_
  AdminJobs jobs_;    // last, so that it ends first: jobs use all of the above
};

}  // namespace opyard::daemon
