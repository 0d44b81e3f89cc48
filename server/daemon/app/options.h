#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Every option of opyardd, in one place: X(type, name, default, documentation).
//
// An option `drain_seconds` is the flag --drain-seconds, the environment variable
// OPYARD_DRAIN_SECONDS and the key drain_seconds of the configuration file. A flag wins over the
// environment, the environment over the file. Lists are given by repeating the flag, with commas in
// the environment, as an array in the file.
#define OPYARD_DAEMON_OPTIONS(X)                                                                   \
  X(Texts, listen, {},                                                                             \
    "Address to listen at: unix:PATH (at most 107 bytes) or HOST:PORT (see insecure_tcp). May be " \
    "repeated. Default: opyardd.sock in $XDG_RUNTIME_DIR/opyard, for root in /run/opyard, else "   \
    "in "                                                                                          \
    "a folder opyard-UID of the temporary directory")                                              \
  X(Texts, plugin_dir, {},                                                                         \
    "Directory that plugins are loaded from, the first that has one. May be repeated. Default: "   \
    "../lib/opyard/plugins, seen from the folder of the program; naming any replaces it")          \
  X(Texts, plugin, {"cpu"},                                                                        \
    "Plugin to load at the start, by name. May be repeated. Default: cpu; naming any replaces it") \
  X(bool, no_plugins, false, "Load no plugin at the start")                                        \
  X(Text, plugin_cache, {},                                                                        \
    "Directory for the copies that plugins run from; must allow programs to be mapped. Default: "  \
    "the temporary directory")                                                                     \
  X(uint64_t, keep_warm_seconds, 60,                                                               \
    "How long a plugin that was replaced stays ready for a rollback, unless the swap says "        \
    "otherwise")                                                                                   \
  X(uint64_t, plugin_generations, 4, "Most builds of one plugin that are mapped at once")          \
  X(bool, cpu_fallback, true,                                                                      \
    "Compute on the CPU what a plugin's device has no kernel for; false refuses it instead")       \
  X(Text, admin_socket, {},                                                                        \
    "Unix socket for the operator, for loading and swapping plugins: its path, or none. Default: " \
    "the path of the first Unix socket in listen with .admin behind it")                           \
  X(bool, insecure_tcp, false,                                                                     \
    "Allow HOST:PORT without TLS and credentials, for loopback hosts only: every local user can "  \
    "connect")                                                                                     \
  X(Text, log_level, "info", "debug, info, warning or error")                                      \
  X(Text, log_file, {}, "Write the log to this file instead of the standard error output")         \
  X(uint64_t, threads, 0, "Threads that carry out frames; 0: as many as the cgroup has cores")     \
  X(uint64_t, memory_bytes, 0,                                                                     \
    "Most bytes that all sessions' tensors may take; 0: three quarters of the cgroup's memory")    \
  X(uint64_t, session_bytes, 0, "Most bytes that one session's tensors may take; 0: memory_bytes") \
  X(uint64_t, session_handles, 1u << 20, "Most tensors that one session may hold")                 \
  X(uint64_t, sessions, 1024, "Most sessions at once")                                             \
  X(uint64_t, lease_seconds, 60,                                                                   \
    "A session without open streams and calls for so long is closed, unless it asked for more")    \
  X(uint64_t, connections, 128, "Most connections at once, over each Unix socket")                 \
  X(uint64_t, connections_per_user, 64, "Most connections of one user, over each Unix socket")     \
  X(uint64_t, drain_seconds, 30,                                                                   \
    "After SIGTERM, the time that frames and streams have to finish before the daemon leaves")

namespace opyard::daemon {

using Text = std::string;
using Texts = std::vector<std::string>;

struct Options {
#define OPYARD_OPTION_FIELD(type, name, value, doc) type name = value;
  OPYARD_DAEMON_OPTIONS(OPYARD_OPTION_FIELD)
#undef OPYARD_OPTION_FIELD
};

// What the command line asked for besides running.
struct CommandLine {
  Options options;
  bool done = false;  // --help, --version or --print-config: `text` is to be printed, then exit 0
  std::string text;
};

// Reads flags, environment (as getenv sees it) and the file named by --config or OPYARD_CONFIG.
// INVALID_ARGUMENT for an unknown flag or key, a value of the wrong kind or a file that cannot be
// read; the message says which of the three sources it came from.
CommandLine read_command_line(int argc, const char* const* argv);

// A configuration file that says the given options, each under its documentation.
std::string to_toml(const Options& options);

}  // namespace opyard::daemon
