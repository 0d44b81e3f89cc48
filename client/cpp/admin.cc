#include "client/cpp/admin.h"

#include <grpcpp/grpcpp.h>

#include <cstdlib>

#include "client/cpp/admin_wire.h"
#include "client/cpp/channel.h"
#include "opyard/base/check.h"
#include "opyard/v1/plugins.grpc.pb.h"

namespace opyard::client {
namespace {

class GrpcAdmin final : public Admin {
 public:
  GrpcAdmin(std::string address, std::chrono::milliseconds deadline)
      : address_(std::move(address)),
        deadline_(deadline),
        stub_(v1::Plugins::NewStub(make_channel(address_))) {}

  std::string address() const override { return address_; }

  PluginList list(const std::string& slot, bool with_kernels) override {
    v1::ListPluginsRequest request;
    request.set_slot(slot);
    request.set_with_kernels(with_kernels);
    v1::ListPluginsReply reply;
    call(&v1::Plugins::Stub::List, request, &reply, {});
    return wire::decode(reply);
  }

  PluginChange load(const std::string& name, const PluginChangeOptions& options) override {
    v1::LoadPluginRequest request;
    request.set_name(name);
    return change(&v1::Plugins::Stub::Load, request, options);
  }

  PluginChange swap(const std::string& slot, const std::string& name,
                    const PluginChangeOptions& options) override {
    v1::SwapPluginRequest request;
    request.set_slot(slot);
    request.set_name(name);
    return change(&v1::Plugins::Stub::Swap, request, options);
  }

  PluginChange unload(const std::string& slot, const PluginChangeOptions& options) override {
    v1::UnloadPluginRequest request;
    request.set_slot(slot);
    return change(&v1::Plugins::Stub::Unload, request, options);
  }

  PluginChange rollback(const std::string& slot, const PluginChangeOptions& options) override {
    v1::RollbackPluginRequest request;
    request.set_slot(slot);
    return change(&v1::Plugins::Stub::Rollback, request, options);
  }

  std::vector<PluginDifference> diff(const std::string& slot, const std::string& name) override {
    v1::DiffPluginRequest request;
    request.set_slot(slot);
    request.set_name(name);
    v1::DiffPluginReply reply;
    call(&v1::Plugins::Stub::Diff, request, &reply, {});
    return wire::decode(reply);
  }

  PluginList count_hits(const std::string& slot, std::chrono::milliseconds time) override {
    v1::CountHitsRequest request;
    request.set_slot(slot);
    request.set_milliseconds(static_cast<uint32_t>(time.count()));
    v1::ListPluginsReply reply;
    call(&v1::Plugins::Stub::CountHits, request, &reply, time);
    return wire::decode(reply);
  }

 private:
  // `more`: what the call takes by its nature.
  template <typename Method, typename Request, typename Reply>
  void call(Method method, const Request& request, Reply* reply, std::chrono::milliseconds more) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline_ + more);
    check((*stub_.*method)(&context, request, reply));
  }

  template <typename Method, typename Request>
  PluginChange change(Method method, Request& request, const PluginChangeOptions& options) {
    wire::encode(options, request.mutable_options());
    v1::ChangePluginReply reply;
    call(method, request, &reply, {});
    return wire::decode(reply);
  }

  void check(const grpc::Status& status) const {
    if (status.ok()) return;
    const Code code = code_of(status);
    if (said_by_daemon(status)) raise(code, status.error_message());
    if (code == Code::kUnavailable) {
      raise(code, str_cat("no daemon answers at the admin socket ", address_, " (",
                          status.error_message(),
                          "); start opyardd as this user, or name its "
                          "admin socket with --admin-address or OPYARD_ADMIN_ADDRESS"));
    }
    if (code == Code::kDeadlineExceeded) {
      raise(code, str_cat("no answer from ", address_, " within ", deadline_.count(),
                          " ms. A change that has begun goes on: look with opyard plugin list; "
                          "--timeout waits longer"));
    }
    if (code == Code::kUnimplemented && status.error_message().empty()) {
      raise(code, str_cat("what listens at ", address_,
                          " serves no plugins; is it the daemon's admin socket?"));
    }
    raise(code, status.error_message());
  }

  const std::string address_;
  const std::chrono::milliseconds deadline_;
  const std::unique_ptr<v1::Plugins::Stub> stub_;
};

}  // namespace

std::unique_ptr<Admin> make_grpc_admin(std::string_view address,
                                       std::chrono::milliseconds deadline) {
  OPYARD_CHECK(address.starts_with("unix:"), kInvalidArgument, "'", address,
               "' is no admin address; wanted unix:PATH, the daemon's admin socket");
  return std::make_unique<GrpcAdmin>(std::string(address), deadline);
}

std::string default_admin_address(std::string_view address) {
  const char* given = std::getenv("OPYARD_ADMIN_ADDRESS");
  if (given != nullptr && *given != '\0') return given;
  OPYARD_CHECK(address.starts_with("unix:"), kInvalidArgument,
               "which admin socket goes with a daemon at ", address,
               " is not known; name it with --admin-address unix:PATH");
  return str_cat(address, ".admin");
}

}  // namespace opyard::client
