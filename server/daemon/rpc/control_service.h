#pragma once

#include <string>

#include "opyard/runtime/yard.h"
#include "opyard/v1/control.grpc.pb.h"

namespace opyard::daemon {

// Control: versions, limits, sessions. Any thread.
class ControlService final : public v1::Control::CallbackService {
 public:
  ControlService(Yard& yard, std::string server_name);

  grpc::ServerUnaryReactor* Handshake(grpc::CallbackServerContext* context,
                                      const v1::HandshakeRequest* request,
                                      v1::HandshakeReply* reply) override;
  grpc::ServerUnaryReactor* OpenSession(grpc::CallbackServerContext* context,
                                        const v1::OpenSessionRequest* request,
                                        v1::OpenSessionReply* reply) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* context,
                                         const v1::CloseSessionRequest* request,
                                         v1::CloseSessionReply* reply) override;

 private:
  Yard& yard_;
  const std::string server_name_;
  const std::string incarnation_;  // 16 random bytes of this run
};

}  // namespace opyard::daemon
