#include <iostream>
#include <optional>

#include "client/cli/arguments.h"
#include "client/cli/commands.h"
#include "client/cli/print.h"
#include "client/cli/terminal.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::Client;
using client::TraceBatch;
using client::TraceLine;
using client::TraceReader;

std::string line_json(const TraceLine& line) {
  return str_cat("{\"op\": ", quoted_json(line.op), ", \"key\": ", quoted_json(line.key),
                 ", \"label\": ", quoted_json(line.label), ", \"depth\": ", line.depth, "}");
}

std::string lost_text(uint64_t lost) {
  return str_cat("… ", lost, lost == 1 ? " line" : " lines", " lost\n");
}

// Writes batches until there are no more, or until `most` lines (0: no limit).
class LineWriter {
 public:
  LineWriter(const Options& options, std::ostream& out) : options_(options), out_(out) {}

  // False when enough has been written.
  bool write(const TraceBatch& batch) {
    for (const TraceLine& line : batch.lines) {
      out_ << (options_.json ? line_json(line) : line.text) << "\n";
      if (options_.count != 0 && ++written_ == options_.count) return finish(), false;
    }
    if (batch.lost > 0) {
      out_ << (options_.json ? str_cat("{\"lost\": ", batch.lost, "}\n") : lost_text(batch.lost));
    }
    return finish();
  }

 private:
  // Whoever looks on sees lines as they come.
  bool finish() { return static_cast<bool>(out_.flush()); }

  const Options& options_;
  std::ostream& out_;
  uint64_t written_ = 0;
};

std::string token_of(const std::string& hex) {
  std::string token;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    const std::string pair = hex.substr(i, 2);
    if (pair.find_first_not_of("0123456789abcdefABCDEF") != pair.npos) break;
    token += static_cast<char>(std::stoi(pair, nullptr, 16));
  }
  if (token.size() != 16 || hex.size() != 32) {
    throw UsageError("a session is named by the 32 hexadecimal digits of its token, got " +
                     std::to_string(hex.size()) + " characters");
  }
  return token;
}

// Every line of a session's calls, until Ctrl-C.
int follow(const Options& options, std::ostream& out) {
  const char* from_environment = std::getenv("OPYARD_SESSION");
  const std::string session =
      !options.session.empty() || !from_environment ? options.session : from_environment;
  if (options.local || session.empty()) {
    throw UsageError(
        "wanted an operator and its arguments, whose call is shown, or a session to follow: "
        "--session TOKEN or OPYARD_SESSION (a Python program finds its token in yard.session). "
        "Calls of other sessions are not shown to a client");
  }
  Client yard =
      client::connect(options.address, {.label = "opyard-cli", .session = token_of(session)});
  const std::unique_ptr<TraceReader> reader = yard.transport().trace(options.op_prefix);
  const Interrupts interrupts([&] { reader->cancel(); });
  if (!options.json) std::cerr << "following; Ctrl-C ends\n";
  LineWriter writer(options, out);
  try {
    for (TraceBatch batch; reader->read(&batch);) {
      if (!writer.write(batch)) break;
    }
  } catch (const Error& error) {
    if (error.code() != Code::kAborted) throw;
    std::cerr << "opyard: " << error.message() << "\n";
  }
  return 0;
}

// Runs one call and shows what it went through, then its results.
int trace_call(const Options& options, std::ostream& out) {
  Client yard = open_yard(options);
  BoundCall bound = bind_words(yard.transport().get_schema(options.op), options.words);
  const std::unique_ptr<TraceReader> reader = yard.transport().trace(options.op_prefix);
  std::optional<Error> failure;
  std::vector<client::Output> outputs;
  try {
    outputs = yard.call(bound.schema, std::move(bound.args), std::move(bound.kwargs));
  } catch (const Error& error) {
    failure = error;  // what it went through is of interest all the more
  }
  reader->stop();
  LineWriter writer(options, out);
  TraceBatch all;
  for (TraceBatch batch; reader->read(&batch);) {
    if (options.json) {
      all.lines.insert(all.lines.end(), batch.lines.begin(), batch.lines.end());
      all.lost += batch.lost;
    } else if (!writer.write(batch)) {
      break;
    }
  }
  if (failure) throw *failure;
  if (!options.json) {
    out << pretty(outputs);
    return 0;
  }
  std::string lines;
  for (const TraceLine& line : all.lines) lines += (lines.empty() ? "" : ", ") + line_json(line);
  out << str_cat("{\"lines\": [", lines, "], \"lost\": ", all.lost, ", ",
                 results_json(outputs).substr(1), "\n");
  return 0;
}

}  // namespace

int trace(const Options& options, std::ostream& out) {
  return options.op.empty() ? follow(options, out) : trace_call(options, out);
}

}  // namespace opyard::cli
