#pragma once

#include "opyard/runtime/yard.h"
#include "opyard/v1/registry.grpc.pb.h"

namespace opyard::daemon {

// Registry: what can be called and how it would be routed. Any thread.
class RegistryService final : public v1::Registry::CallbackService {
 public:
  explicit RegistryService(Yard& yard) : yard_(yard) {}

  grpc::ServerUnaryReactor* ListOps(grpc::CallbackServerContext* context,
                                    const v1::ListOpsRequest* request,
                                    v1::ListOpsReply* reply) override;
  grpc::ServerUnaryReactor* GetSchema(grpc::CallbackServerContext* context,
                                      const v1::GetSchemaRequest* request,
                                      v1::GetSchemaReply* reply) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context,
                                    const v1::ExplainRequest* request,
                                    v1::ExplainReply* reply) override;
  grpc::ServerUnaryReactor* DumpTable(grpc::CallbackServerContext* context,
                                      const v1::DumpTableRequest* request,
                                      v1::DumpTableReply* reply) override;
  grpc::ServerUnaryReactor* CheckInvariants(grpc::CallbackServerContext* context,
                                            const v1::CheckInvariantsRequest* request,
                                            v1::CheckInvariantsReply* reply) override;

 private:
  Yard& yard_;
};

}  // namespace opyard::daemon
