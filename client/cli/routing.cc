#include <ostream>

#include "client/cli/arguments.h"
#include "client/cli/commands.h"
#include "client/cli/print.h"
#include "client/cli/terminal.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::Client;
using client::TrailStep;

// "CPU", "CPU,AutogradCPU": names of dispatch keys begin with a capital letter; no value does, but
// these.
bool names_keys(const std::string& word) {
  if (word == "True" || word == "False" || word == "None" || word == "NaN" ||
      word.starts_with("Inf")) {
    return false;
  }
  if (word.empty() || word[0] < 'A' || word[0] > 'Z') return false;
  return word.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_,") == word.npos;
}

void split_keys(const std::string& word, std::vector<std::string>* keys) {
  size_t begin = 0;
  while (begin <= word.size()) {
    const size_t end = std::min(word.find(',', begin), word.size());
    if (end > begin) keys->push_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
}

// The one overload that the name can stand for.
std::string only_overload(Client& yard, const std::string& op, std::string_view advice) {
  const std::vector<client::OpSchema> overloads = yard.transport().get_schema(op);
  if (overloads.size() == 1) return overloads.front().name;
  std::string list;
  for (const client::OpSchema& schema : overloads) {
    if (schema.name == op) return op;
    list += "\n  " + schema.text;
  }
  throw UsageError(
      str_cat(op, " has ", overloads.size(), " overloads; name one", advice, ":", list));
}

std::string step_json(const TrailStep& step) {
  std::string out =
      str_cat("{\"key\": ", quoted_json(step.key), ", \"op\": ", quoted_json(step.op),
              ", \"kernel\": ", quoted_json(step.kernel), ", \"rule\": ", quoted_json(step.rule),
              ", \"source\": ", quoted_json(step.source), ", \"generation\": ", step.generation,
              ", \"place\": ", quoted_json(step.place));
  if (!step.kind.empty()) out += ", \"kind\": " + quoted_json(step.kind);
  if (!step.keys.empty()) out += ", \"keys\": " + json_list(step.keys);
  return out + "}";
}

std::string steps_json(const std::vector<TrailStep>& steps) {
  std::string out;
  for (const TrailStep& step : steps) out += (out.empty() ? "" : ", ") + step_json(step);
  return "[" + out + "]";
}

std::string trail_json(const client::Trail& trail) {
  return str_cat(
      "{\"op\": ", quoted_json(trail.op), ", \"schema\": ", quoted_json(trail.schema),
      ", \"arguments\": ", json_list(trail.arguments),
      ", \"included\": ", json_list(trail.included), ", \"excluded\": ", json_list(trail.excluded),
      ", \"fallthrough\": ", json_list(trail.fallthrough),
      ", \"keys\": ", json_list(trail.remaining),
      ", \"chosen\": ", trail.chosen.empty() ? "null" : quoted_json(trail.chosen),
      ", \"fails\": ", trail.fails ? "true" : "false", ", \"steps\": ", steps_json(trail.steps),
      ", \"text\": ", quoted_json(trail.text), "}\n");
}

}  // namespace

int explain(const Options& options, std::ostream& out) {
  Client yard = open_yard(options);
  client::ExplainQuestion question{options.op, {}, {}, {}, {}, {}};
  bool keys = true;
  for (const std::string& word : options.words) keys = keys && names_keys(word);
  for (const std::string& word : options.include) split_keys(word, &question.include);
  for (const std::string& word : options.exclude) split_keys(word, &question.exclude);
  if (keys) {
    question.op =
        only_overload(yard, options.op, ", or give arguments and the one that fits best is taken");
    for (const std::string& word : options.words) split_keys(word, &question.keys);
  } else {
    BoundCall bound = bind_words(yard.transport().get_schema(options.op), options.words);
    question.op = bound.schema.name;
    question.args = std::move(bound.args);
    question.kwargs = std::move(bound.kwargs);
  }
  const client::Trail trail = yard.explain(std::move(question));
  out << (options.json ? trail_json(trail) : trail.text);
  return 0;
}

int table(const Options& options, std::ostream& out) {
  Client yard = open_yard(options);
  if (options.check) {
    const std::string text = yard.transport().check_invariants();
    out << (options.json ? str_cat("{\"text\": ", quoted_json(text), "}\n") : text);
    return 0;
  }
  if (options.op.empty())
    throw UsageError("wanted an operator, or --check; see opyard table --help");
  using client::TableKind;
  const TableKind kind = options.dump    ? TableKind::kComputed
                         : options.state ? TableKind::kRegistrations
                         : options.all   ? TableKind::kSlots
                                         : TableKind::kFolded;
  const std::string op = only_overload(yard, options.op, "");
  const client::Table table = yard.transport().table(op, kind, output_width());
  if (options.json) {
    out << str_cat("{\"op\": ", quoted_json(table.op), ", \"rows\": ", steps_json(table.rows),
                   ", \"text\": ", quoted_json(table.text), "}\n");
  } else {
    out << table.text;
  }
  return 0;
}

}  // namespace opyard::cli
