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
  const std::vector<std::string> files = output_files(options.outputs, tensors.size());
  for (size_t i = 0; i < files.size(); ++i) {
    write_npy(files[i], *tensors[i]);
    if (!options.json) out << "wrote " << files[i] << "\n";
  }
}

}  // namespace

std::vector<std::string> output_files(const std::vector<std::string>& given, size_t tensors) {
  if (given.empty() || given.size() == tensors) return given;
  OPYARD_CHECK(given.size() == 1 && tensors > 1, kInvalidArgument, "got ", given.size(),
               " files to write, but the call has ", tensors,
               " tensors as results; give -o once for each, or once for numbered files");
  const std::string& file = given.front();
  const size_t dot = file.ends_with(".npy") ? file.size() - 4 : file.size();
  std::vector<std::string> files;
  for (size_t i = 0; i < tensors; ++i) {
    files.push_back(str_cat(file.substr(0, dot), ".", i, file.substr(dot)));
  }
  return files;
}

Client open_yard(const Options& options) {
  if (options.local) {
    return Client(client::make_local_transport(options.plugin_dirs, options.plugins));
  }
  return client::connect(options.address, {.label = "opyard-cli"});
}

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
  } else {
    for (const Output& output : outputs) {
      if (output.kind == Output::Kind::kValue) out << pretty(output.value) << "\n";
    }
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

}  // namespace opyard::cli
