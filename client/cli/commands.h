#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/admin.h"
#include "client/cpp/client.h"

namespace opyard::cli {

// What the commands of `opyard plugin` want to know besides.
struct PluginOptions {
  std::string admin_address;  // empty: OPYARD_ADMIN_ADDRESS, then what belongs to the address
  double timeout_seconds = 60;
  std::string slot;
  std::string name;  // of the plugin that takes the slot's place
  std::string load;  // … that is to be loaded
  bool kernels = false;
  bool all = false;  // list: closed and failed generations, too
  double hits_seconds = 0;
  client::PluginChangeOptions change;
  bool no_probe = false;
  std::optional<double> keep_warm_seconds;

  std::string file;                 // validate
  std::vector<std::string> checks;  // … these alone
  uint64_t cycles = 1000;
  std::string junit;  // … a file for the report
};

// What the command line said, for every command.
struct Options {
  std::string address;                      // empty: OPYARD_ADDRESS, then the default
  bool local = false;                       // embed the library instead
  std::vector<std::string> plugin_dirs;     // for local; empty: the library's own
  std::vector<std::string> plugins{"cpu"};  // for local
  bool json = false;

  std::string op;
  std::vector<std::string> words;    // arguments of call, explain and trace; the prefix of ops
  std::vector<std::string> outputs;  // files that results are written to
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  bool all = false;            // table: a line for every slot
  bool dump = false;           // table: what each key resolves to, in the reference's format
  bool state = false;          // table: what was registered, in the reference's format
  bool check = false;          // table: compares all stored tables
  std::string session;         // trace: the token of the session to follow, in hexadecimal
  std::string op_prefix;       // trace: these operators only
  uint64_t count = 0;          // trace: ends after so many lines; 0: never
  std::string via = "local";   // check ops
  std::string device = "cpu";  // check ops
  std::vector<std::string> files;
  PluginOptions plugin;
};

// Each prints to `out` and returns the exit status. They raise opyard::Error when the call fails
// and UsageError when the words cannot be read.
int ping(const Options& options, std::ostream& out);
int call(const Options& options, std::ostream& out);
int ops(const Options& options, std::ostream& out);
int explain(const Options& options, std::ostream& out);
int table(const Options& options, std::ostream& out);
int trace(const Options& options, std::ostream& out);
int check_dispatch(const Options& options, std::ostream& out);
int check_ops(const Options& options, std::ostream& out);

// The file of each tensor: as given, or numbered, c.0.npy, c.1.npy, …, when one is given for
// several. INVALID_ARGUMENT for any other difference in number.
std::vector<std::string> output_files(const std::vector<std::string>& given, size_t tensors);

// The yard that the options name: a daemon, or one in this process.
client::Client open_yard(const Options& options);

}  // namespace opyard::cli
