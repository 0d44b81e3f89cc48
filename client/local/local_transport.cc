#include "client/local/local_transport.h"

#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>

#include "client/local/convert.h"
#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/execute.h"
#include "opyard/runtime/yard.h"

namespace opyard::client {
namespace {

// Runs `work` as a task of the session and waits for it.
template <typename Work>
auto in_session_of(runtime::Session& session, Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  session.run([&task] { task(); });
  return result.get();
}

class LocalTraceReader final : public TraceReader {
 public:
  LocalTraceReader(runtime::Traces& traces, runtime::Session& session, const std::string& prefix)
      : following_(traces.follow(session, prefix, [signal = signal_] { signal->wake(); })) {}

  bool read(TraceBatch* batch) override {
    std::unique_lock lock(signal_->mutex);
    signal_->woken.wait(lock, [this] {
      return signal_->stopped || signal_->cancelled || following_->feed().has_some();
    });
    if (signal_->cancelled || !following_->feed().has_some()) return false;
    *batch = from_batch(following_->feed().take(kLinesAtOnce));
    return true;
  }
  void stop() override {
    following_->stop();
    const std::lock_guard lock(signal_->mutex);
    signal_->stopped = true;
    signal_->woken.notify_all();
  }
  void cancel() override {
    const std::lock_guard lock(signal_->mutex);
    signal_->cancelled = true;
    signal_->woken.notify_all();
  }

 private:
  static constexpr size_t kLinesAtOnce = 512;
  // May be woken after the reader has gone.
  struct Signal {
    std::mutex mutex;
    std::condition_variable woken;
    bool stopped = false;
    bool cancelled = false;
    void wake() {
      const std::lock_guard lock(mutex);
      woken.notify_all();
    }
  };
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  const std::unique_ptr<runtime::Following> following_;
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(const std::vector<std::string>& plugin_dirs,
                 const std::vector<std::string>& plugins)
      : yard_(options_with(plugin_dirs)) {
    for (const std::string& plugin : plugins) yard_.load_plugin(plugin);
    session_ = yard_.sessions().open({.label = "local"});
    use_ = runtime::SessionUse(session_);
  }

  std::string address() const override { return "local"; }

  ServerInfo handshake() override {
    ServerInfo info;
    info.version = 1;
    info.server = "libopyard in this process";
    info.devices = yard_.devices();
    info.frame_bytes = runtime::kLimits.frame_bytes;
    info.chunk_bytes = runtime::kLimits.chunk_bytes;
    info.inline_value_bytes = ~uint64_t{0};
    return info;
  }

  Reply call(const Frame& frame) override {
    const runtime::Frame inner = to_frame(frame);
    return in_session_of(*session_,
                         [&] { return to_reply(session_->execute(session_->calls(), inner)); });
  }

  TensorMeta put(Id id, const HostTensor& host) override {
    return in_session_of(*session_, [&] {
      session_->calls().ids().take(id);
      session_->store().check_room(1);
      const Tensor tensor =
          session_->new_tensor(host.sizes, host.dtype, host.device, host.data.size());
      if (!host.data.empty()) std::memcpy(tensor.raw_data(), host.data.data(), host.data.size());
      runtime::finish_upload(tensor);
      session_->store().bind(id, IValue(tensor));
      return meta_of(id, tensor);
    });
  }

  HostTensor get(Id id) override {
    return in_session_of(*session_, [&] {
      HostTensor host = host_copy(session_->store().tensor_at(id));
      OPYARD_CHECK(host.has_data, kFailedPrecondition, "the tensor is on '", host.device,
                   "'; copy it to cpu to read its elements");
      return host;
    });
  }

  std::vector<TensorMeta> describe(const std::vector<Id>& ids) override {
    return in_session_of(*session_, [&] {
      std::vector<TensorMeta> metas;
      for (const Id id : ids) metas.push_back(meta_of(id, session_->store().tensor_at(id)));
      return metas;
    });
  }

  uint64_t release(const std::vector<Id>& ids) override {
    return in_session_of(*session_, [&] {
      uint64_t released = 0;
      for (const Id id : ids) released += session_->store().release(id);
      return released;
    });
  }

  std::vector<OpSchema> list_ops(const std::string& prefix, bool) override {
    std::vector<OpSchema> ops;
    std::string after;
    do {
      const runtime::OpPage page = runtime::list_operators(prefix, runtime::kMaxOpsPerPage, after);
      for (const FunctionSchema& schema : page.schemas) ops.push_back(from_schema(schema));
      after = page.next;
    } while (!after.empty());
    return ops;
  }

  std::vector<OpSchema> get_schema(const std::string& op) override {
    std::vector<OpSchema> schemas;
    for (const FunctionSchema& schema : runtime::schemas_of(op)) {
      schemas.push_back(from_schema(schema));
    }
    return schemas;
  }

  Trail explain(const ExplainQuestion& question) override {
    runtime::OpCall call;
    call.op = question.op;
    fill_operands(question.args, question.kwargs, call);
    return in_session_of(*session_, [&] {
      return from_explanation(runtime::explain_call(call, question.keys, question.include,
                                                    question.exclude, session_.get()));
    });
  }

  Table table(const std::string& op, TableKind kind, uint32_t width) override {
    return from_table(runtime::dump_table(op, static_cast<runtime::TableKind>(kind), width));
  }

  std::string check_invariants() override { return runtime::check_tables().text; }

  std::unique_ptr<TraceReader> trace(const std::string& prefix) override {
    return std::make_unique<LocalTraceReader>(yard_.traces(), *session_, prefix);
  }

 private:
  static runtime::YardOptions options_with(const std::vector<std::string>& plugin_dirs) {
    runtime::YardOptions options;
    options.plugin_dirs = plugin_dirs;
    return options;
  }

  static void fill_operands(const std::vector<Value>& args, const std::vector<NamedValue>& kwargs,
                            runtime::OpCall& call) {
    for (const Value& arg : args) call.args.push_back(to_operand(arg));
    for (const NamedValue& arg : kwargs) call.kwargs.push_back({arg.name, to_operand(arg.value)});
  }

  // The result borrows its texts from `frame`.
  static runtime::Frame to_frame(const Frame& frame) {
    runtime::Frame out;
    for (const Put& put : frame.puts) {
      out.puts.push_back(
          {put.id, put.tensor.dtype, put.tensor.sizes, put.tensor.data, put.tensor.device});
    }
    for (const OpCall& call : frame.ops) {
      runtime::OpCall& op = out.ops.emplace_back();
      op.seq = call.seq;
      op.op = call.op;
      fill_operands(call.args, call.kwargs, op);
      op.results = call.results;
      op.want = static_cast<runtime::Want>(call.want);
    }
    for (const Id id : frame.fetches) out.fetches.push_back({id, runtime::Want::kValue});
    out.releases = frame.releases;
    return out;
  }

  static Reply to_reply(const runtime::Outcome& outcome) {
    Reply reply;
    for (const runtime::Failure& failure : outcome.failures) {
      reply.failures.push_back({failure.seq, failure.id, failure.error.code(),
                                failure.error.message(), std::string(failure.reason)});
    }
    for (const runtime::Result& result : outcome.results) {
      Result& out = reply.results.emplace_back();
      out.seq = result.seq;
      out.index = result.index;
      out.is_tensor = result.value.is(Tag::kTensor) && result.value.to_tensor().defined();
      if (!out.is_tensor) {
        out.value = from_ivalue(result.value);
        continue;
      }
      const Tensor& tensor = result.value.to_tensor();
      out.meta = meta_of(result.id, tensor);
      if (result.want == runtime::Want::kValue) {
        out.tensor = host_copy(tensor);
      } else {
        out.tensor = {out.meta.dtype, out.meta.sizes, {}, out.meta.device, false};
      }
    }
    reply.queue_ns = outcome.timings.queue_ns;
    reply.resolve_ns = outcome.timings.resolve_ns;
    reply.kernel_ns = outcome.timings.kernel_ns;
    return reply;
  }

  runtime::Yard yard_;
  std::shared_ptr<runtime::Session> session_;
  runtime::SessionUse use_;  // keeps the session's lease
};

}  // namespace

std::unique_ptr<Transport> make_local_transport(const std::vector<std::string>& plugin_dirs,
                                                const std::vector<std::string>& plugins) {
  return std::make_unique<LocalTransport>(plugin_dirs, plugins);
}

}  // namespace opyard::client
