#pragma once

#include "opyard/runtime/yard.h"
#include "opyard/v1/tensors.grpc.pb.h"

namespace opyard::daemon {

// Tensors: uploads, downloads, descriptions. Any thread.
class TensorsService final : public v1::Tensors::CallbackService {
 public:
  explicit TensorsService(Yard& yard) : yard_(yard) {}

  grpc::ServerReadReactor<v1::PutRequest>* Put(grpc::CallbackServerContext* context,
                                               v1::PutReply* reply) override;
  grpc::ServerWriteReactor<v1::GetReply>* Get(grpc::CallbackServerContext* context,
                                              const v1::GetRequest* request) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest* request,
                                     v1::DescribeReply* reply) override;
  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context,
                                    const v1::ReleaseRequest* request,
                                    v1::ReleaseReply* reply) override;

 private:
  Yard& yard_;
};

}  // namespace opyard::daemon
