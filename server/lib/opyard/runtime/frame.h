#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/core/ivalue.h"
#include "opyard/runtime/ids.h"

// A frame of operator calls in the runtime's own terms: what a server decodes into, and what an
// embedder fills. Texts and bytes are borrowed: their owner must keep them until the frame has been
// carried out.

namespace opyard::runtime {

using Clock = std::chrono::steady_clock;

// One argument: a value, a value of the session by its id, or a list of tensors by their ids (0:
// None).
struct Operand {
  enum class Kind : uint8_t { kValue, kId, kIds };
  Kind kind = Kind::kValue;
  Id id = 0;
  IValue value;
  std::vector<Id> ids;
};

struct NamedOperand {
  std::string_view name;
  Operand operand;
};

// How much of a result the sender wants to have back.
enum class Want : uint8_t { kNone, kMeta, kValue };

struct OpCall {
  uint64_t seq = 0;
  std::string_view op;    // "aten::add.Tensor"; empty: see op_index
  uint32_t op_index = 0;  // place in the stream's table of names, from 1; 0: none
  std::vector<Operand> args;
  std::vector<NamedOperand> kwargs;
  std::vector<Id> results;  // 0 drops a return; an empty list drops all
  Want want = Want::kNone;
  uint32_t deadline_ms = 0;  // from the frame's arrival; 0: none
  std::string_view site;
  // Why this call could not be read; it then fails with this error instead of being run.
  std::optional<Error> unreadable;
};

// A small tensor whose elements come with the frame.
struct InlinePut {
  Id id = 0;
  std::string_view dtype;
  std::vector<int64_t> sizes;
  std::string_view data;
  std::string_view device;  // empty: cpu
};

struct Fetch {
  Id id = 0;
  Want want = Want::kValue;
};

struct Frame {
  std::vector<InlinePut> puts;
  std::vector<OpCall> ops;
  std::vector<Fetch> fetches;
  std::vector<Id> releases;
  Clock::time_point arrival = Clock::now();
  std::optional<Clock::time_point> deadline;  // of the whole frame
};

// The first failure that a poisoned value goes back to.
struct Cause {
  std::string op;
  uint64_t seq = 0;
  uint32_t stream = 0;
  Code code = Code::kUnknown;
  std::string message;
  std::string site;
};

// One operation, put or fetch that failed.
struct Failure {
  uint64_t seq = 0;  // 0 for a put or a fetch
  Id id = 0;         // of the put or fetch
  Error error = Error(Code::kUnknown, "");
  std::string_view reason;             // a stable upper-case word, or empty
  std::string argument;                // the parameter's name, where one is to blame
  std::shared_ptr<const Cause> cause;  // for a poisoned input
};

// An error that knows more than its text: what a Failure is made of.
class CallError : public Error {
 public:
  // `reason` is a literal.
  CallError(Code code, std::string message, std::string_view reason)
      : Error(code, std::move(message)), reason_(reason) {}
  CallError& with_argument(std::string name) {
    argument_ = std::move(name);
    return *this;
  }
  CallError& with_cause(std::shared_ptr<const Cause> cause) {
    cause_ = std::move(cause);
    return *this;
  }
  std::string_view reason() const { return reason_; }
  const std::string& argument() const { return argument_; }
  const std::shared_ptr<const Cause>& cause() const { return cause_; }

 private:
  std::string_view reason_;
  std::string argument_;
  std::shared_ptr<const Cause> cause_;
};

// One value to tell.
struct Result {
  uint64_t seq = 0;  // 0 for a fetch
  uint32_t index = 0;
  Id id = 0;
  Want want = Want::kNone;
  IValue value;
};

struct Timings {
  uint64_t queue_ns = 0;
  uint64_t resolve_ns = 0;
  uint64_t kernel_ns = 0;
};

struct Outcome {
  uint64_t ack = 0;  // the highest seq dealt with on this stream
  std::vector<Failure> failures;
  std::vector<Result> results;
  Timings timings;
};

}  // namespace opyard::runtime
