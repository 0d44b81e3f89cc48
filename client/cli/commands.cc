#include "client/cli/commands.h"

#include <chrono>
#include <cstdio>
#include <ostream>

#include "client/cli/arguments.h"
#include "client/cli/npy.h"
#include "client/cli/print.h"
#include "client/local/local_transport.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::Client;
using client::HostTensor;
using client::Output;

Client open_yard(const Options& options) {
  if (options.local) {
    return Client(client::make_local_transport(options.plugin_dir, options.plugins));
  }
  return client::connect(options.address, {.label = "opyard-cli"});
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + quoted_json(text);
  return "[" + out + "]";
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out.empty() ? "none" : out;
}

std::vector<const HostTensor*> tensors_of(const std::vector<Output>& outputs) {
  std::vector<const HostTensor*> tensors;
  for (const Output& output : outputs) {
    for (const HostTensor& tensor : output.tensors) tensors.push_back(&tensor);
  }
  return tensors;
}

void write_outputs(const Options& options, const std::vector<Output>& outputs, std::ostream& out) {
  const std::vector<const HostTensor*> tensors = tensors_of(outputs);
  OPYARD_CHECK(options.outputs.size() <= tensors.size(), kInvalidArgument, "got ",
               options.outputs.size(), " files to write, but the call has ", tensors.size(),
               " tensors as results");
  for (size_t i = 0; i < options.outputs.size(); ++i) {
    write_npy(options.outputs[i], *tensors[i]);
    if (!options.json) out << "wrote " << options.outputs[i] << "\n";
  }
}

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

std::string steps_json(const std::vector<client::TrailStep>& steps) {
  std::string out;
  for (const client::TrailStep& step : steps) {
    out +=
        str_cat(out.empty() ? "" : ", ", "{\"key\": ", quoted_json(step.key),
                ", \"kernel\": ", quoted_json(step.kernel), ", \"rule\": ", quoted_json(step.rule),
                ", \"source\": ", quoted_json(step.source), "}");
  }
  return "[" + out + "]";
}

}  // namespace

int ping(const Options& options, std::ostream& out) {
  const auto start = std::chrono::steady_clock::now();
  Client yard = open_yard(options);
  const client::ServerInfo info = yard.ping();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const std::string address = yard.transport().address();
  char milliseconds[32];
  std::snprintf(milliseconds, sizeof(milliseconds), "%.2f", took.count());
  if (options.json) {
    out << str_cat(
        "{\"address\": ", quoted_json(address), ", \"server\": ", quoted_json(info.server),
        ", \"version\": ", info.version, ", \"devices\": ", json_list(info.devices),
        ", \"features\": ", json_list(info.features), ", \"milliseconds\": ", milliseconds, "}\n");
  } else {
    out << str_cat(info.server, " at ", address, ", protocol ", info.version,
                   ", devices: ", joined(info.devices), " (", milliseconds, " ms)\n");
  }
  return 0;
}

int call(const Options& options, std::ostream& out) {
  Client yard = open_yard(options);
  BoundCall bound = bind_words(yard.transport().get_schema(options.op), options.words);
  const std::vector<Output> outputs =
      yard.call(bound.schema, std::move(bound.args), std::move(bound.kwargs));
  if (options.json) {
    out << results_json(outputs) << "\n";
  } else if (options.outputs.empty()) {
    out << pretty(outputs);
  }
  write_outputs(options, outputs, out);
  return 0;
}

int ops(const Options& options, std::ostream& out) {
  Client yard = open_yard(options);
  const std::string prefix = options.words.empty() ? "" : options.words.front();
  const auto schemas = yard.transport().list_ops(prefix, true);
  std::string json;
  for (const client::OpSchema& schema : schemas) {
    if (options.json) {
      json += str_cat(json.empty() ? "" : ", ", "{\"name\": ", quoted_json(schema.name),
                      ", \"schema\": ", quoted_json(schema.text), "}");
    } else {
      out << schema.text << "\n";
    }
  }
  if (options.json) {
    out << "{\"ops\": [" << json << "]}\n";
  } else if (schemas.empty()) {
    out << "no operator's name starts with '" << prefix << "'\n";
  }
  return 0;
}

int explain(const Options& options, std::ostream& out) {
  Client yard = open_yard(options);
  client::ExplainQuestion question{options.op, {}, {}, {}, {}, {}};
  bool keys = !options.words.empty();
  for (const std::string& word : options.words) keys = keys && names_keys(word);
  for (const std::string& word : options.include) split_keys(word, &question.include);
  for (const std::string& word : options.exclude) split_keys(word, &question.exclude);
  if (keys) {
    for (const std::string& word : options.words) split_keys(word, &question.keys);
  } else if (!options.words.empty()) {
    BoundCall bound = bind_words(yard.transport().get_schema(options.op), options.words);
    question.op = bound.schema.name;
    question.args = std::move(bound.args);
    question.kwargs = std::move(bound.kwargs);
  }
  const client::Trail trail = yard.explain(std::move(question));
  if (options.json) {
    out << str_cat("{\"chosen\": ", trail.chosen.empty() ? "null" : quoted_json(trail.chosen),
                   ", \"steps\": ", steps_json(trail.steps),
                   ", \"text\": ", quoted_json(trail.text), "}\n");
  } else {
    out << trail.text;
  }
  return 0;
}

int table(const Options& options, std::ostream& out) {
  Client yard = open_yard(options);
  const client::Trail trail = yard.transport().table(options.op, options.registrations);
  if (options.json) {
    out << str_cat("{\"op\": ", quoted_json(options.op), ", \"rows\": ", steps_json(trail.steps),
                   ", \"text\": ", quoted_json(trail.text), "}\n");
  } else if (options.full || options.registrations) {
    out << trail.text;
  } else {
    out << options.op << "\n" << fold_table(trail.text);
  }
  return 0;
}

}  // namespace opyard::cli
