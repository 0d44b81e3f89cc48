#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/value.h"
#include "opyard/base/error.h"

namespace opyard::client {

// What a server says of itself.
struct ServerInfo {
  uint32_t version = 0;
  std::string server;  // "opyardd 0.1.0"
  std::vector<std::string> features;
  std::vector<std::string> devices;
  uint64_t frame_bytes = 0;
  uint64_t chunk_bytes = 0;
  uint64_t inline_value_bytes = 0;
};

// How much of an operation's results the reply carries.
enum class Want : uint8_t { kNone, kMeta, kValue };

struct Put {
  Id id = 0;
  HostTensor tensor;
};

struct OpCall {
  uint64_t seq = 0;
  std::string op;           // full name with overload
  std::vector<Value> args;  // no HostTensor: those go into `puts`
  std::vector<NamedValue> kwargs;
  std::vector<Id> results;  // 0 drops one; empty drops all
  Want want = Want::kNone;
};

// Carried out in this order: puts, ops, fetches, releases. An operation that fails stops nothing:
// it poisons its results.
struct Frame {
  std::vector<Put> puts;
  std::vector<OpCall> ops;
  std::vector<Id> fetches;
  std::vector<Id> releases;
};

struct Failure {
  uint64_t seq = 0;  // 0: a put or a fetch
  Id id = 0;         // of the put or fetch
  Code code = Code::kUnknown;
  std::string message;
  std::string reason;  // a stable upper-case word, or empty
};

struct Result {
  uint64_t seq = 0;
  uint32_t index = 0;
  bool is_tensor = false;
  TensorMeta meta;  // of a tensor
  HostTensor
      tensor;   // of a tensor, when its value was wanted; has_data tells whether it came along
  Value value;  // otherwise
};

struct Reply {
  std::vector<Failure> failures;
  std::vector<Result> results;
  uint64_t queue_ns = 0;
  uint64_t resolve_ns = 0;
  uint64_t kernel_ns = 0;
};

struct SchemaArgument {
  std::string name;
  std::string type;  // "Tensor", "int[2]", "Scalar?"
  bool has_default = false;
  std::string default_text;
  bool kwarg_only = false;
  std::string alias;  // "(a!)" or empty
};

struct OpSchema {
  std::string name;  // "aten::add.Tensor"
  std::string text;  // the whole schema; empty where only names were asked for
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaArgument> returns;
};

// A kernel on the way of a call, or a row of a table.
struct TrailStep {
  std::string key;  // of a folded row the first
  std::string kernel;
  std::string rule;
  std::string source;  // the plugin; empty where there is no kernel
  std::string op;
  uint64_t generation = 0;
  std::string place;
  std::vector<std::string> keys;  // of a row: all that it stands for
  std::string kind;               // of a row: "kernel", "fallback", "fallthrough", "missing", …
};
struct Trail {
  std::string text;  // for people
  std::vector<TrailStep> steps;
  std::string chosen;  // empty when the call would fail
  std::string op;      // with overload
  std::string schema;
  std::vector<std::string> arguments;
  std::vector<std::string> included;
  std::vector<std::string> excluded;
  std::vector<std::string> fallthrough;
  std::vector<std::string> remaining;
  bool fails = false;
};

// kComputed and kRegistrations in the reference's line formats; kFolded and kSlots in columns.
enum class TableKind : uint8_t { kComputed, kRegistrations, kFolded, kSlots };
struct Table {
  std::string op;  // with overload
  std::string text;
  std::vector<TrailStep> rows;
};

// One entry into the dispatcher.
struct TraceLine {
  std::string text;  // " [call] op=[aten::ones], key=[CPU]"
  std::string op;
  std::string key;
  std::string label;
  uint32_t depth = 0;
};
struct TraceBatch {
  std::vector<TraceLine> lines;
  uint64_t lost = 0;  // after these, for want of room
};

// The calls of a session while they run. One thread reads; stop() and cancel() may be called by
// any, also before it goes.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // Waits for lines; false after the last ones. Raises ABORTED when the session has ended,
  // UNAVAILABLE when the daemon goes.
  virtual bool read(TraceBatch* batch) = 0;
  // Nothing more is wanted but the lines of calls that have been answered.
  virtual void stop() = 0;
  // Ends read() at once: it returns false.
  virtual void cancel() = 0;
};

// What explain() is asked about: keys, or arguments whose keys are taken.
struct ExplainQuestion {
  std::string op;
  std::vector<std::string> keys;
  std::vector<Value> args;
  std::vector<NamedValue> kwargs;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
};

// The way to a yard: over gRPC, or the library in this process. A transport has at most one
// session, opened by the first call that needs it and closed at the end. Every method raises
// opyard::Error with a canonical code and ends within the transport's deadline. Any thread.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string address() const = 0;
  virtual ServerInfo handshake() = 0;

  virtual Reply call(const Frame& frame) = 0;
  // The id counts from the return on.
  virtual TensorMeta put(Id id, const HostTensor& tensor) = 0;
  virtual HostTensor get(Id id) = 0;
  virtual std::vector<TensorMeta> describe(const std::vector<Id>& ids) = 0;
  virtual uint64_t release(const std::vector<Id>& ids) = 0;

  // All operators whose full name starts with `prefix`.
  virtual std::vector<OpSchema> list_ops(const std::string& prefix, bool with_schemas) = 0;
  // One overload by its full name, all of a bare name. NOT_FOUND names the nearest.
  virtual std::vector<OpSchema> get_schema(const std::string& op) = 0;
  virtual Trail explain(const ExplainQuestion& question) = 0;
  // `width`: see v1::DumpTableRequest.
  virtual Table table(const std::string& op, TableKind kind, uint32_t width) = 0;
  // Raises INTERNAL when a stored table is wrong; says how many were looked at.
  virtual std::string check_invariants() = 0;
  // The session's calls from the return on, of operators whose full name starts with `prefix`.
  virtual std::unique_ptr<TraceReader> trace(const std::string& prefix) = 0;
};

}  // namespace opyard::client
