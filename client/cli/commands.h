#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/client.h"

namespace opyard::cli {

// What the command line said, for every command.
struct Options {
  std::string address;                      // empty: OPYARD_ADDRESS, then the default
  bool local = false;                       // embed the library instead
  std::string plugin_dir;                   // for local; empty: the library's own
  std::vector<std::string> plugins{"cpu"};  // for local
  bool json = false;

  std::string op;
  std::vector<std::string> words;    // arguments of call and explain; the prefix of ops
  std::vector<std::string> outputs;  // files that results are written to
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  bool full = false;           // table: every key, in the dispatcher's own format
  bool registrations = false;  // table: what was registered
  std::string via = "local";   // check ops
  std::string device = "cpu";  // check ops
  std::vector<std::string> files;
};

// Each prints to `out` and returns the exit status. They raise opyard::Error when the call fails
// and UsageError when the words cannot be read.
int ping(const Options& options, std::ostream& out);
int call(const Options& options, std::ostream& out);
int ops(const Options& options, std::ostream& out);
int explain(const Options& options, std::ostream& out);
int table(const Options& options, std::ostream& out);
int check_dispatch(const Options& options, std::ostream& out);
int check_ops(const Options& options, std::ostream& out);

// The table's lines ("KEY: KERNEL [REASON]") with equal ones together and fallthroughs last, for
// people.
std::string fold_table(const std::string& dump);

}  // namespace opyard::cli
