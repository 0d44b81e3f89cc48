#pragma once

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "client/cpp/transport.h"

// The C++ client of opyardd:
//
//   auto yard = opyard::client::connect("unix:/run/opyard/opyardd.sock");
//   Id x = yard.put(tensor);
//   Id y = yard.run("aten::relu", {Ref{x}});        // stays in the daemon
//   HostTensor z = yard.get(y);
//   std::vector<Output> r = yard.call("aten::add.Tensor", {a, b}, {{"alpha", int64_t{2}}});

namespace opyard::client {

struct ConnectOptions {
  std::chrono::milliseconds deadline{30'000};  // of every call
  std::string label = "opyard-cpp";            // names the session in the daemon's log
  // The token (16 bytes) of a session that another opened: it is joined, and not closed at the end.
  std::string session{};
};

// One return: a tensor (with its elements, if they were wanted), a plain value, or a list of
// tensors.
struct Output {
  enum class Kind : uint8_t { kTensor, kTensors, kValue };
  Kind kind = Kind::kValue;
  std::vector<HostTensor> tensors;  // kTensor: one
  std::vector<TensorMeta> metas;    // in parallel
  Value value;                      // kValue; None for an undefined tensor
};

// A yard seen through a transport: gives out ids, turns failures into errors. Any thread.
class Client {
 public:
  explicit Client(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  Transport& transport() noexcept { return *transport_; }
  ServerInfo ping() { return transport_->handshake(); }
  // A new id of this session.
  Id new_id() noexcept { return next_id_.fetch_add(1); }

  // How a call would be routed; tensors among the arguments are sent along.
  Trail explain(ExplainQuestion question);

  // Uploads in chunks; get() downloads.
  Id put(const HostTensor& tensor);
  HostTensor get(Id id) { return transport_->get(id); }
  TensorMeta describe(Id id) { return transport_->describe({id}).at(0); }
  void release(const std::vector<Id>& ids) { transport_->release(ids); }

  // Calls the operator of this schema; tensors among the arguments are sent along. Results come
  // back with their elements and are not kept. Raises the operation's error.
  std::vector<Output> call(const OpSchema& schema, std::vector<Value> args,
                           std::vector<NamedValue> kwargs = {});
  // By full name: asks for the schema first.
  std::vector<Output> call(std::string_view op, std::vector<Value> args,
                           std::vector<NamedValue> kwargs = {});
  // Calls an operator with one tensor result, which stays in the session under the returned id.
  Id run(std::string_view op, std::vector<Value> args, std::vector<NamedValue> kwargs = {});

 private:
  // Moves tensors among the arguments into puts of the frame, or uploads those that are too large
  // for it.
  void lift_tensors(Frame& frame, std::vector<Id>& temporary);
  Value lift(Frame& frame, std::vector<Id>& temporary, size_t& room, Value value);
  const ServerInfo& info();

  std::unique_ptr<Transport> transport_;
  std::atomic<Id> next_id_{1};
  std::atomic<uint64_t> next_seq_{1};
  std::mutex mutex_;
  std::unique_ptr<ServerInfo> info_;  // guarded by mutex_, then constant
};

// Raises the frame's first failure as an Error with its code, if there is one.
void raise_failure(const Reply& reply);

// Connects to `unix:PATH` or `HOST:PORT`; an empty text stands for default_address().
// INVALID_ARGUMENT for anything else. The first call finds out whether somebody answers:
// UNAVAILABLE otherwise.
Client connect(std::string_view address = {}, const ConnectOptions& options = {});
std::unique_ptr<Transport> make_grpc_transport(std::string_view address,
                                               const ConnectOptions& options = {});

// $OPYARD_ADDRESS, else the address at which a daemon of this user listens by default.
std::string default_address();

}  // namespace opyard::client
