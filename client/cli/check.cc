#include <iostream>

#include "client/cli/commands.h"
#include "client/local/check_dispatch.h"
#include "client/local/check_ops.h"
#include "client/local/local_transport.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

// With JSON on stdout, lines about cases go to stderr.
std::ostream& lines(const Options& options, std::ostream& out) {
  return options.json ? std::cerr : out;
}

int report(const client::CheckResult& result, bool json, std::ostream& out) {
  if (json) {
    out << "{\"passed\": " << result.passed << ", \"failed\": " << result.failed << "}\n";
  } else {
    out << result.passed << " passed, " << result.failed << " failed\n";
  }
  return result.failed == 0 ? 0 : 1;
}

}  // namespace

int check_dispatch(const Options& options, std::ostream& out) {
  client::CheckResult result;
  for (const std::string& file : options.files) {
    result += client::check_dispatch_file(file, lines(options, out));
  }
  return report(result, options.json, out);
}

int check_ops(const Options& options, std::ostream& out) {
  OPYARD_CHECK(options.via == "local" || options.via == "grpc", kUnimplemented, "'", options.via,
               "' is no way to run the cases yet; wanted local or grpc");
  client::Client yard =
      options.via == "local"
          ? client::Client(client::make_local_transport(options.plugin_dirs, options.plugins))
          : client::connect(options.address, {.label = "opyard-check"});
  client::CheckResult result;
  for (const std::string& file : options.files) {
    result += client::check_ops_file(file, yard, options.device, lines(options, out));
  }
  return report(result, options.json, out);
}

}  // namespace opyard::cli
