#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "client/cpp/wire.h"
#include "opyard/base/check.h"
#include "opyard/v1/control.grpc.pb.h"
#include "opyard/v1/ops.grpc.pb.h"
#include "opyard/v1/registry.grpc.pb.h"
#include "opyard/v1/tensors.grpc.pb.h"

namespace opyard::client {
namespace {

constexpr char kSessionKey[] = "opyard-session-bin";
constexpr uint64_t kDefaultChunk = 1 << 20;
constexpr uint32_t kProtocol = 1;

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(std::string address, const ConnectOptions& options)
      : address_(std::move(address)),
        options_(options),
        channel_(make_channel(address_)),
        control_(v1::Control::NewStub(channel_)),
        ops_(v1::Ops::NewStub(channel_)),
        tensors_(v1::Tensors::NewStub(channel_)),
        registry_(v1::Registry::NewStub(channel_)) {}

  ~GrpcTransport() override {
    if (token_.empty() || token_ == options_.session) return;
    try {
      v1::CloseSessionRequest request;
      request.set_token(token_);
      v1::CloseSessionReply reply;
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
      control_->CloseSession(&context, request, &reply);
    } catch (...) {  // the daemon ends the session when its lease is over
    }
  }

  std::string address() const override { return address_; }

  ServerInfo handshake() override {
    v1::HandshakeRequest request;
    request.set_min_version(kProtocol);
    request.set_max_version(kProtocol);
    request.set_client(options_.label);
    v1::HandshakeReply reply;
    grpc::ClientContext context;
    prepare(context);
    check(control_->Handshake(&context, request, &reply));
    ServerInfo info = wire::decode(reply);
    const std::lock_guard lock(mutex_);
    if (info.chunk_bytes > 0) chunk_ = std::min<uint64_t>(info.chunk_bytes, kDefaultChunk);
    return info;
  }

  Reply call(const Frame& frame) override {
    v1::OpFrame request;
    wire::encode(frame, &request);
    request.set_fence(1);
    v1::OpReply reply;
    grpc::ClientContext context;
    prepare_with_session(context);
    check(ops_->Call(&context, request, &reply));
    return wire::decode(reply);
  }

  TensorMeta put(Id id, const HostTensor& tensor) override;
  HostTensor get(Id id) override;

  std::vector<TensorMeta> describe(const std::vector<Id>& ids) override {
    v1::DescribeRequest request;
    request.mutable_ids()->Add(ids.begin(), ids.end());
    v1::DescribeReply reply;
    grpc::ClientContext context;
    prepare_with_session(context);
    check(tensors_->Describe(&context, request, &reply));
    OPYARD_CHECK(reply.tensors_size() == static_cast<int>(ids.size()), kInternal,
                 "the daemon described ", reply.tensors_size(), " tensors, wanted ", ids.size());
    std::vector<TensorMeta> metas;
    for (const v1::TensorMeta& meta : reply.tensors()) metas.push_back(wire::decode(meta));
    return metas;
  }

  uint64_t release(const std::vector<Id>& ids) override {
    if (ids.empty()) return 0;
    v1::ReleaseRequest request;
    request.mutable_ids()->Add(ids.begin(), ids.end());
    v1::ReleaseReply reply;
    grpc::ClientContext context;
    prepare_with_session(context);
    check(tensors_->Release(&context, request, &reply));
    return reply.released();
  }

  std::vector<OpSchema> list_ops(const std::string& prefix, bool with_schemas) override;

  std::vector<OpSchema> get_schema(const std::string& op) override {
    v1::GetSchemaRequest request;
    request.set_op(op);
    v1::GetSchemaReply reply;
    grpc::ClientContext context;
    prepare(context);
    check(registry_->GetSchema(&context, request, &reply));
    std::vector<OpSchema> schemas;
    for (const v1::OpSchema& schema : reply.schemas()) schemas.push_back(wire::decode(schema));
    return schemas;
  }

  Trail explain(const ExplainQuestion& question) override {
    v1::ExplainRequest request;
    wire::encode(question, &request);
    v1::ExplainReply reply;
    grpc::ClientContext context;
    if (question.keys.empty()) {
      prepare_with_session(context);
    } else {
      prepare(context);
    }
    check(registry_->Explain(&context, request, &reply));
    return wire::decode(reply);
  }

  Table table(const std::string& op, TableKind kind, uint32_t width) override {
    v1::DumpTableRequest request;
    request.set_op(op);
    request.set_kind(static_cast<v1::DumpTableRequest::Kind>(kind));
    request.set_width(width);
    v1::DumpTableReply reply;
    grpc::ClientContext context;
    prepare(context);
    check(registry_->DumpTable(&context, request, &reply));
    return wire::decode(reply);
  }

  std::string check_invariants() override {
    v1::CheckInvariantsReply reply;
    grpc::ClientContext context;
    prepare(context);
    check(registry_->CheckInvariants(&context, {}, &reply));
    return reply.text();
  }

  std::unique_ptr<TraceReader> trace(const std::string& prefix) override;

 private:
  void prepare(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + options_.deadline);
  }
  void prepare_with_session(grpc::ClientContext& context) {
    prepare(context);
    context.AddMetadata(kSessionKey, session());
  }
  // The session's token; opens the session on first use.
  std::string session() {
    const std::lock_guard lock(mutex_);
    if (!token_.empty()) return token_;
    v1::OpenSessionRequest request;
    request.set_label(options_.label);
    v1::OpenSessionReply reply;
    grpc::ClientContext context;
    prepare(context);
    check(control_->OpenSession(&context, request, &reply));
    OPYARD_CHECK(!reply.token().empty(), kInternal, "the daemon opened a session without a token");
    token_ = reply.token();
    return token_;
  }
  uint64_t chunk() {
    const std::lock_guard lock(mutex_);
    return chunk_;
  }

  void check(const grpc::Status& status) const {
    if (status.ok()) return;
    const Code code = code_of(status);
    const bool by_daemon = said_by_daemon(status);
    if (code == Code::kUnavailable && !by_daemon) {
      raise(code,
            str_cat("no daemon answers at ", address_, " (", status.error_message(),
                    "); start opyardd, or name its address with --address or ", "OPYARD_ADDRESS"));
    }
    if (code == Code::kDeadlineExceeded && !by_daemon) {
      raise(code, str_cat("no answer from ", address_, " within ", options_.deadline.count(),
                          " ms (", status.error_message(), ")"));
    }
    raise(code, status.error_message());
  }

  const std::string address_;
  const ConnectOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Control::Stub> control_;
  const std::unique_ptr<v1::Ops::Stub> ops_;
  const std::unique_ptr<v1::Tensors::Stub> tensors_;
  const std::unique_ptr<v1::Registry::Stub> registry_;
  std::mutex mutex_;
  std::string token_ = options_.session;  // guarded by mutex_
  uint64_t chunk_ = kDefaultChunk;        // guarded by mutex_
};

class GrpcTraceReader final : public TraceReader {
 public:
  using Check = std::function<void(const grpc::Status&)>;

  GrpcTraceReader(v1::Ops::Stub& ops, const std::string& session, const std::string& prefix,
                  std::chrono::milliseconds deadline, Check check)
      : check_(std::move(check)) {
    context_.AddMetadata(kSessionKey, session);
    stream_ = ops.Trace(&context_);
    v1::TraceRequest request;
    request.set_op_prefix(prefix);
    stream_->Write(request);
    v1::TraceReply reply;
    auto started = std::async(std::launch::async, [&] { return stream_->Read(&reply); });
    const bool late = started.wait_for(deadline) != std::future_status::ready;
    if (late) context_.TryCancel();
    if (started.get() && !late) return;
    finished_ = true;
    const grpc::Status status = stream_->Finish();
    OPYARD_CHECK(!late, kDeadlineExceeded, "the daemon did not begin to trace within ",
                 deadline.count(), " ms");
    check_(status);
    raise(Code::kInternal, "the daemon ended the trace before it began");
  }
  ~GrpcTraceReader() override {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  bool read(TraceBatch* batch) override {
    if (finished_) return false;
    v1::TraceReply reply;
    if (stream_->Read(&reply)) {
      *batch = wire::decode(reply);
      return true;
    }
    finished_ = true;
    const grpc::Status status = stream_->Finish();
    if (!cancelled_.load()) check_(status);
    return false;
  }
  void stop() override { stream_->WritesDone(); }
  void cancel() override {
    cancelled_.store(true);
    context_.TryCancel();
  }

 private:
  const Check check_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::TraceRequest, v1::TraceReply>> stream_;
  std::atomic<bool> cancelled_{false};
  bool finished_ = false;
};

std::unique_ptr<TraceReader> GrpcTransport::trace(const std::string& prefix) {
  return std::make_unique<GrpcTraceReader>(*ops_, session(), prefix, options_.deadline,
                                           [this](const grpc::Status& status) { check(status); });
}

TensorMeta GrpcTransport::put(Id id, const HostTensor& tensor) {
  v1::PutReply reply;
  grpc::ClientContext context;
  prepare_with_session(context);
  const uint64_t chunk = this->chunk();
  const auto writer = tensors_->Put(&context, &reply);
  v1::PutRequest request;
  request.mutable_header()->set_id(id);
  request.mutable_header()->set_dtype(tensor.dtype);
  request.mutable_header()->mutable_sizes()->Add(tensor.sizes.begin(), tensor.sizes.end());
  request.mutable_header()->set_total_bytes(tensor.data.size());
  request.mutable_header()->set_device(tensor.device);
  bool going = writer->Write(request);
  for (size_t at = 0; going && at < tensor.data.size(); at += chunk) {
    v1::PutRequest part;
    part.set_data(tensor.data.substr(at, chunk));
    going = writer->Write(part);  // false: the status says why
  }
  writer->WritesDone();
  check(writer->Finish());
  return wire::decode(reply.meta());
}

HostTensor GrpcTransport::get(Id id) {
  v1::GetRequest request;
  request.set_id(id);
  grpc::ClientContext context;
  prepare_with_session(context);
  const auto reader = tensors_->Get(&context, request);
  HostTensor tensor;
  uint64_t wanted = 0;
  bool too_much = false;
  for (v1::GetReply part; reader->Read(&part);) {
    if (part.has_meta()) {
      tensor.dtype = part.meta().dtype();
      tensor.sizes.assign(part.meta().sizes().begin(), part.meta().sizes().end());
      tensor.device = part.meta().device();
      wanted = part.meta().bytes();
    }
    if (part.data().size() > wanted - std::min<uint64_t>(wanted, tensor.data.size())) {
      too_much = true;
      context.TryCancel();
      break;
    }
    tensor.data += part.data();
  }
  const grpc::Status status = reader->Finish();
  OPYARD_CHECK(!too_much, kInternal, "the daemon sent more bytes than the tensor has");
  check(status);
  OPYARD_CHECK(tensor.data.size() == wanted, kDataLoss, "the daemon sent ", tensor.data.size(),
               " of ", wanted, " bytes");
  return tensor;
}

std::vector<OpSchema> GrpcTransport::list_ops(const std::string& prefix, bool with_schemas) {
  std::vector<OpSchema> schemas;
  v1::ListOpsRequest request;
  request.set_prefix(prefix);
  request.set_with_schemas(with_schemas);
  do {
    v1::ListOpsReply reply;
    grpc::ClientContext context;
    prepare(context);
    check(registry_->ListOps(&context, request, &reply));
    for (const v1::OpSchema& schema : reply.ops()) schemas.push_back(wire::decode(schema));
    if (reply.ops().empty()) break;
    request.set_page_token(reply.next_page_token());
  } while (!request.page_token().empty());
  return schemas;
}

}  // namespace

std::unique_ptr<Transport> make_grpc_transport(std::string_view address,
                                               const ConnectOptions& options) {
  return std::make_unique<GrpcTransport>(std::string(address), options);
}

}  // namespace opyard::client
