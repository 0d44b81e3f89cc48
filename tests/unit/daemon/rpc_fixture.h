#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/daemon.h"
#include "opyard/v1/control.grpc.pb.h"
#include "opyard/v1/ops.grpc.pb.h"
#include "opyard/v1/registry.grpc.pb.h"
#include "opyard/v1/tensors.grpc.pb.h"
#include "tests/unit/daemon/temporary_directory.h"

namespace opyard::daemon {

// A daemon in this process, without plugins but with the operators of the namespace "test", and a
// client of it.
class RpcTest : public ::testing::Test {
 protected:
  explicit RpcTest(const std::function<void(Options&)>& change = {});

  // A call's context with the session's token and a deadline of 20 s.
  std::unique_ptr<grpc::ClientContext> context(const std::string& token);
  std::unique_ptr<grpc::ClientContext> context() { return this->context(token_); }

  std::string open_session();

  // One unary frame in the test's session; the status must be OK.
  v1::OpReply call(const v1::OpFrame& frame);

  // Binds floats to an id of stream 0.
  void put(uint64_t id, const std::vector<float>& values);
  // Its elements, by a fetch.
  std::vector<float> get(uint64_t id);

  TemporaryDirectory directory_;
  std::unique_ptr<Daemon> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Control::Stub> control_;
  std::unique_ptr<v1::Ops::Stub> ops_;
  std::unique_ptr<v1::Tensors::Stub> tensors_;
  std::unique_ptr<v1::Registry::Stub> registry_;
  std::string token_;
};

using StreamWriter = grpc::ClientReaderWriter<v1::OpFrame, v1::OpReply>;

// Adds `op` with tensor arguments by their ids.
v1::OpCall* add_op(v1::OpFrame* frame, uint64_t seq, const std::string& op,
                   const std::vector<uint64_t>& args, const std::vector<uint64_t>& results = {});
void add_put(v1::OpFrame* frame, uint64_t id, const std::vector<float>& values);
std::vector<float> floats_in(const std::string& bytes);

// The details that came with a status.
v1::ErrorInfo info_of(const grpc::Status& status);

}  // namespace opyard::daemon
