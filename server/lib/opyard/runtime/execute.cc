#include "opyard/runtime/execute.h"

#include <cstring>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/arguments.h"
#include "opyard/runtime/call_counts.h"
#include "opyard/runtime/catalog.h"
#include "opyard/runtime/session.h"
#include "opyard/runtime/stream.h"

namespace opyard::runtime {
namespace {

// What is kept of texts that a client may make long: a cause lives as long as the ids that it
// poisoned.
constexpr size_t kKeptName = 128;
constexpr size_t kKeptMessage = 1024;
// Unknown operators of one frame for which similar names are looked up.
constexpr int kHintsPerFrame = 8;

uint64_t nanoseconds(Clock::duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return count > 0 ? static_cast<uint64_t>(count) : 0;
}

bool returns_list(const FunctionSchema& schema) {
  for (const Argument& value : schema.returns) {
    if (value.type.is_list && value.type.is_tensor_like()) return true;
  }
  return false;
}

void check_result_count(size_t ids, size_t values) {
  OPYARD_CHECK(ids == 0 || ids == values, kInvalidArgument, "got ", ids,
               " result ids, but the operator returns ", values, values == 1 ? " value" : " values",
               "; give an id for each, 0 to drop one");
}

// Returns in their order, lists of tensors taken apart.
std::vector<IValue> flatten(Stack stack) {
  std::vector<IValue> values;
  for (IValue& value : stack) {
    if (value.is_list_of(Tag::kTensor)) {
      for (IValue& element : value.elements()) values.push_back(std::move(element));
    } else {
      values.push_back(std::move(value));
    }
  }
  return values;
}

class FrameRun {
 public:
  FrameRun(Session& session, Stream& stream, const Frame& frame)
      : stream_(stream),
        frame_(frame),
        store_(session.store()),
        accepted_(session.call_counts(), frame.ops.size()) {}

  Outcome run() {
    const Clock::time_point start = Clock::now();
    outcome_.timings.queue_ns = nanoseconds(start - frame_.arrival);
    for (const InlinePut& put : frame_.puts) run_put(put);
    outcome_.timings.resolve_ns += nanoseconds(Clock::now() - start);
    for (const OpCall& call : frame_.ops) run_op(call);
    for (const Fetch& fetch : frame_.fetches) run_fetch(fetch);
    for (const Id id : frame_.releases) store_.release(id);
    outcome_.ack = stream_.last_seq();
    return std::move(outcome_);
  }

 private:
  // What is known of an operation so far, for the report of its failure.
  struct Progress {
    std::string_view op;
    std::vector<Id> taken;  // result ids that are this operation's, and are poisoned when it fails
    bool late = false;      // not started: its deadline had passed
  };

  void run_put(const InlinePut& put) {
    Progress progress;
    try {
      stream_.ids().take(put.id);
      progress.taken.push_back(put.id);
      store_.check_room(1);
      Tensor tensor = new_upload(put.sizes, put.dtype, put.device, put.data.size());
      if (!put.data.empty()) std::memcpy(tensor.raw_data(), put.data.data(), put.data.size());
      finish_upload(tensor);
      store_.bind(put.id, IValue(std::move(tensor)));
    } catch (...) {
      fail({}, put.id, progress);
    }
  }

  void run_op(const OpCall& call) {
    Progress progress;
    progress.op = call.op;
    try {
      carry_out(call, progress);
      accepted_.end(CallCounts::End::kCompleted);
    } catch (...) {
      fail(&call, 0, progress);
      accepted_.end(progress.late ? CallCounts::End::kCancelled : CallCounts::End::kFailed);
    }
  }

  void carry_out(const OpCall& call, Progress& progress) {
    const Clock::time_point start = Clock::now();
    stream_.take_seq(call.seq);
    for (const Id id : call.results) {
      if (id == 0) continue;
      stream_.ids().take(id);
      progress.taken.push_back(id);
    }
    progress.op = stream_.resolve_name(call.op, call.op_index);
    if (call.unreadable) throw *call.unreadable;
    check_deadline(call, start, progress);

    const Dispatcher& dispatcher = Dispatcher::global();
    const std::optional<OperatorHandle> op = dispatcher.find(progress.op);
    if (!op || !is_public_operator(progress.op)) {
      raise_unknown_operator(progress.op, ++unknown_operators_ <= kHintsPerFrame);
    }
    const FunctionSchema& schema = op->schema();
    const bool list = returns_list(schema);
    if (!list) check_result_count(call.results.size(), schema.returns.size());
    store_.check_room(progress.taken.size());
    Stack stack = bind_operands(schema, call, store_);

    const Clock::time_point resolved = Clock::now();
    dispatcher.call_boxed(*op, stack);
    outcome_.timings.resolve_ns += nanoseconds(resolved - start);
    outcome_.timings.kernel_ns += nanoseconds(Clock::now() - resolved);
    std::vector<IValue> values = list ? flatten(std::move(stack)) : std::move(stack);
    check_result_count(call.results.size(), values.size());
    bind_results(call, values);
  }

  void check_deadline(const OpCall& call, Clock::time_point now, Progress& progress) const {
    const bool own = call.deadline_ms != 0 &&
                     now >= frame_.arrival + std::chrono::milliseconds(call.deadline_ms);
    const bool whole = frame_.deadline && now >= *frame_.deadline;
    if (!own && !whole) return;
    progress.late = true;
    throw CallError(Code::kDeadlineExceeded,
                    str_cat("the deadline passed before the operation was started; not started",
                            own ? str_cat(" (", call.deadline_ms, " ms from its arrival)") : ""),
                    "NOT_STARTED");
  }

  void bind_results(const OpCall& call, std::vector<IValue>& values) {
    // First, since it may raise: then the ids bound so far are poisoned like the rest.
    for (size_t i = 0; i < call.results.size(); ++i) {
      if (call.results[i] != 0) store_.bind(call.results[i], values[i]);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const Id id = call.results.empty() ? 0 : call.results[i];
      if (call.want != Want::kNone) {
        outcome_.results.push_back(
            {call.seq, static_cast<uint32_t>(i), id, call.want, std::move(values[i])});
      }
    }
  }

  void run_fetch(const Fetch& fetch) {
    try {
      outcome_.results.push_back({0, 0, fetch.id, fetch.want, store_.at(fetch.id)});
    } catch (...) {
      fail(nullptr, fetch.id, {});
    }
  }

  // Notes the exception being handled, and poisons what the operation would have made. Inside a
  // catch block only.
  void fail(const OpCall* call, Id id, const Progress& progress) {
    Failure failure;
    failure.seq = call == nullptr ? 0 : call->seq;
    failure.id = id;
    failure.error = current_error();
    try {
      throw;
    } catch (const CallError& error) {
      failure.reason = error.reason();
      failure.argument = error.argument();
      failure.cause = error.cause();
    } catch (...) {
      // Nothing more to learn.
    }
    const std::string_view op = progress.op.substr(0, kKeptName);
    if (!op.empty()) {
      if (failure.error.op().empty()) failure.error.with_op(std::string(op));
      if (failure.error.message().find(op) == std::string::npos) failure.error.prefix(op);
    }
    if (!progress.taken.empty()) poison(call, progress, failure);
    outcome_.failures.push_back(std::move(failure));
  }

  void poison(const OpCall* call, const Progress& progress, const Failure& failure) {
    std::shared_ptr<const Cause> cause = failure.cause;
    if (!cause) {
      cause = std::make_shared<const Cause>(
          Cause{std::string(progress.op.substr(0, kKeptName)), failure.seq, stream_.number(),
                failure.error.code(), failure.error.message().substr(0, kKeptMessage),
                call == nullptr ? "" : std::string(call->site.substr(0, kKeptName))});
    }
    for (const Id id : progress.taken) store_.poison(id, cause);
  }

  Stream& stream_;
  const Frame& frame_;
  TensorStore& store_;
  AcceptedCalls accepted_;
  Outcome outcome_;
  int unknown_operators_ = 0;
};

}  // namespace

Outcome execute_frame(Session& session, Stream& stream, const Frame& frame) {
  const PinnedRoot pin;  // one snapshot of the tables for the whole frame
  return FrameRun(session, stream, frame).run();
}

Tensor new_upload(const std::vector<int64_t>& sizes, std::string_view dtype,
                  std::string_view device, uint64_t bytes) {
  const std::optional<ScalarType> type = try_parse_scalar_type(dtype);
  OPYARD_CHECK(type.has_value(), kInvalidArgument, "unknown dtype '", dtype.substr(0, 64),
               "'; wanted a name like float32, int64 or bool");
  OPYARD_CHECK(sizes.size() <= kLimits.dims, kInvalidArgument, "the tensor has ", sizes.size(),
               " dimensions, at most ", kLimits.dims, " are allowed");
  const Device place = device.empty() ? Device(Backend::kCPU) : Device::parse(device);
  OPYARD_CHECK(place.is_cpu(), kUnimplemented, "tensors are uploaded to cpu, not to '",
               device.substr(0, 64), "'; copy them there with aten::_to_copy");
  const auto elements = static_cast<uint64_t>(checked_numel(sizes));
  uint64_t wanted = 0;
  const bool overflow = __builtin_mul_overflow(elements, element_size(*type), &wanted);
  OPYARD_CHECK(!overflow && wanted == bytes, kInvalidArgument, "a ", to_string(*type),
               " tensor of ", to_string(IntList(sizes)), " has ", elements, " elements of ",
               element_size(*type), " bytes, but ", bytes, " bytes were announced or sent");
  return make_tensor(sizes, *type, place);
}

void poison_put(TensorStore& store, Id id, const Error& error) {
  store.poison(id,
               std::make_shared<const Cause>(Cause{"", 0, stream_of(id), error.code(),
                                                   error.message().substr(0, kKeptMessage), ""}));
}

void finish_upload(const Tensor& tensor) {
  if (tensor.dtype() != ScalarType::kBool) return;
  auto* bytes = static_cast<uint8_t*>(tensor.raw_data());
  const int64_t count = tensor.numel();
  for (int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace opyard::runtime
