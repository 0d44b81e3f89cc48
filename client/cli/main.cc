#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <iostream>

#include "client/cli/commands.h"
#include "client/cli/literal.h"
#include "client/cli/plugin.h"
#include "client/cli/print.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
// Put before words that CLI11 would take for options or lists of its own: -1, [1,2].
constexpr char kGuard = '\x01';

using Command = int (*)(const Options&, std::ostream&);

constexpr char kTop[] =
    "opyard: call operators, see how they are routed, exchange plugins, check cases.\n"
    "The yard is a daemon (see --address), or this process itself with --local.";

constexpr char kCallHelp[] =
    "Calls an operator and prints its results.\n\n"
    "Arguments are JSON values or @file.npy. Where a Tensor is wanted, a nested list becomes a\n"
    "tensor: bool or int64 if all elements are, else float32; 'int32:[1,2]' names the dtype.\n"
    "Of several overloads the one that fits best is taken; name one to be sure.\n\n"
    "Examples:\n"
    "  opyard call aten::add.Tensor '[[1,2],[3,4]]' '[[10,20],[30,40]]' alpha=2\n"
    "  opyard call aten::sum.dim_IntList '[[1,2],[3,4]]' '[1]' keepdim=true\n"
    "  opyard call aten::full '[2,3]' 0.5 dtype=float64\n"
    "  opyard call aten::mm @a.npy @b.npy -o c.npy\n"
    "  opyard call aten::relu float32:[-1,2] --json --local";

constexpr char kExplainHelp[] =
    "Shows how a call would be routed, without running it.\n\n"
    "Takes dispatch keys, or arguments as in call; without either it asks for a tensor on cpu.\n"
    "Of several overloads the one that the arguments fit best is taken; with keys, name one.\n\n"
    "Examples:\n"
    "  opyard explain aten::add.Tensor CPU AutogradCPU\n"
    "  opyard explain aten::add.Tensor CUDA,AutogradCUDA --exclude AutogradCUDA\n"
    "  opyard explain aten::add.Tensor '[1,2]' '[3,4]'";

constexpr char kTableHelp[] =
    "Shows which kernel stands at which dispatch key.\n\n"
    "Keys with the same kernel stand in one line. Lines are as wide as the terminal ($COLUMNS),\n"
    "and not wrapped in files and pipes.\n\n"
    "Examples:\n"
    "  opyard table aten::add.Tensor\n"
    "  opyard table aten::add.Tensor --all     a line for every key\n"
    "  opyard table aten::add.Tensor --dump    PyTorch's dump of the computed table\n"
    "  opyard table aten::add.Tensor --state   PyTorch's dump of what was registered\n"
    "  opyard table --check                    compares all tables with their registrations";

constexpr char kTraceHelp[] =
    "Shows what calls go through, a line for each entry into the dispatcher.\n\n"
    "With an operator and arguments: runs that call and shows its lines, then its results.\n"
    "Without: follows a running session until Ctrl-C. Whoever has a session's token may follow "
    "it;\n"
    "a Python program finds its own in yard.session. Lines that come faster than they can be\n"
    "shown are counted and left out; calls never wait.\n\n"
    "Examples:\n"
    "  opyard trace aten::add '[1,2]' '[3,4]'\n"
    "  opyard trace aten::add '[1,2]' '[3,4]' --local\n"
    "  opyard trace --session 5f0c8e27a1b94d36908d7e52c4f1a60b --op aten::mm --count 100\n"
    "  OPYARD_SESSION=5f0c8e27a1b94d36908d7e52c4f1a60b opyard trace --json";

constexpr char kCheckHelp[] =
    "Runs cases that are written down as YAML: dispatcher scenarios, or operator results.\n\n"
    "Prints a line per failing case, and 'N passed, M failed' at the end.\n\n"
    "Examples:\n"
    "  opyard check dispatch tests/dispatch_cases/*.yaml\n"
    "  opyard check ops cases.yaml --via grpc --address unix:/tmp/yard.sock";

constexpr char kPluginHelp[] =
    "Shows the daemon's plugins, and exchanges them while calls go on.\n\n"
    "A slot is the place of one plugin; generations take it one after the other. NAME stands for\n"
    "libopyard_plugin_NAME.so in the daemon's plugin directories. The daemon listens for these\n"
    "commands on a socket of its own, which only its user and root can open.\n\n"
    "Examples:\n"
    "  opyard plugin list                what is loaded, and what waits for what\n"
    "  opyard plugin diff cpu cpu_new    what a swap would change\n"
    "  opyard plugin swap cpu cpu_new    exchanges the backend; no call is lost\n"
    "  opyard plugin rollback cpu        and back, while the old one is warm\n"
    "  opyard plugin validate FILE       what a plugin's author wants to know";
constexpr char kPluginListHelp[] =
    "Lists slots, generations, and the calls of the daemon.\n\n"
    "Examples:\n  opyard plugin list\n  opyard plugin list cpu --kernels\n"
    "  opyard plugin list --hits 5       with the calls that enter each in five seconds";
constexpr char kPluginLoadHelp[] =
    "Loads a plugin into an empty slot.\n\nExamples:\n  opyard plugin load axpby\n"
    "  opyard plugin load axpby --local  only tries it, in this process";
constexpr char kPluginSwapHelp[] =
    "Exchanges the plugin of a slot for another build, in one step for all callers.\n\n"
    "Without NAME the file of the slot's own name is taken, as it is now. What would take "
    "something\n"
    "from callers is refused, and the message names the option that allows it.\n\n"
    "Examples:\n  opyard plugin swap cpu\n  opyard plugin swap cpu cpu_new --keep-warm 600";
constexpr char kPluginUnloadHelp[] =
    "Takes a plugin away.\n\nWaits a few seconds for its end; then it goes on by itself, and list "
    "shows what it waits for.\n\nExamples:\n  opyard plugin unload axpby";
constexpr char kPluginRollbackHelp[] =
    "Makes the newest warm generation of a slot active again, at once.\n\n"
    "Examples:\n  opyard plugin rollback cpu";
constexpr char kPluginDiffHelp[] =
    "Shows what a swap would change, and changes nothing.\n\n"
    "Two files, with a / or the ending .so, are compared as they are, without a daemon.\n\n"
    "Examples:\n  opyard plugin diff cpu cpu_new\n"
    "  opyard plugin diff old/libopyard_plugin_mine.so ./libopyard_plugin_mine.so";
constexpr char kPluginValidateHelp[] =
    "Tries a plugin's file in every way that a daemon may, and some more; for its author.\n\n"
    "Each check runs in a process of its own. opyard-worker does the work; it is looked for beside "
    "this\n"
    "program, or where OPYARD_WORKER says. Exit status 0 when all pass, else 1.\n\n"
    "Examples:\n  opyard plugin validate ./libopyard_plugin_mine.so\n"
    "  opyard plugin validate ./libopyard_plugin_mine.so --check operators\n"
    "  opyard plugin validate ./libopyard_plugin_mine.so --cycles 10000 --junit report.xml";

constexpr char kOpsHelp[] =
    "Lists operators with their schemas.\n\nExamples:\n  opyard ops\n  opyard ops aten::add";
constexpr char kPingHelp[] =
    "Asks the daemon who it is.\n\nExamples:\n  opyard ping\n"
    "  opyard ping --address 127.0.0.1:7070 --json";

// Builds the command line; remembers in `chosen` which command was given.
class CommandLine {
 public:
  CommandLine() : app_(kTop, "opyard") {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.add_option("--address", options_.address,
                    "unix:PATH or HOST:PORT of the daemon (default: $OPYARD_ADDRESS, then the "
                    "user's own socket)");
    app_.add_flag("--local", options_.local, "use the library in this process, no daemon");
    app_.add_option("--plugin-dir", options_.plugin_dirs,
                    "with --local: where plugins are, may be repeated (replaces the default, the "
                    "library's own folder)")
        ->allow_extra_args(false);
    app_.add_option("--plugin", options_.plugins,
                    "with --local: a plugin to load, may be repeated (default: cpu; naming any "
                    "replaces it)")
        ->allow_extra_args(false);
    app_.add_flag("--json", options_.json, "print JSON");

    add(app_, "ping", kPingHelp, &ping);
    CLI::App* call_app = add(app_, "call", kCallHelp, &call);
    call_app->add_option("OP", options_.op, "the operator, aten::add.Tensor")->required();
    call_app->add_option("ARG", options_.words, "arguments, then name=value");
    call_app
        ->add_option("-o,--output", options_.outputs,
                     "write the tensor to this .npy file; once for each result, or once "
                     "for numbered files (c.0.npy, c.1.npy, …)")
        ->allow_extra_args(false);
    CLI::App* ops_app = add(app_, "ops", kOpsHelp, &ops);
    ops_app->add_option("PREFIX", options_.words, "beginning of the names")->expected(0, 1);
    CLI::App* explain_app = add(app_, "explain", kExplainHelp, &explain);
    explain_app->add_option("OP", options_.op, "the operator")->required();
    explain_app->add_option("KEYS|ARG", options_.words, "dispatch keys, or arguments as in call");
    explain_app->add_option("--include", options_.include, "keys that the thread adds")
        ->allow_extra_args(false);
    explain_app->add_option("--exclude", options_.exclude, "keys that the thread takes away")
        ->allow_extra_args(false);
    CLI::App* table_app = add(app_, "table", kTableHelp, &table);
    table_app->add_option("OP", options_.op, "the operator");
    CLI::Option* all = table_app->add_flag("--all", options_.all, "a line for every key");
    CLI::Option* dump = table_app->add_flag("--dump", options_.dump,
                                            "what each key resolves to, in PyTorch's format");
    CLI::Option* state =
        table_app->add_flag("--state", options_.state, "what was registered, in PyTorch's format");
    table_app->add_flag("--check", options_.check, "compare all tables with their registrations");
    dump->excludes(all, state);
    state->excludes(all);
    add_trace();
    add_check();
    add_plugin();
  }

  // Returns the exit status.
  int run(int argc, char** argv) {
    std::vector<std::string> words;
    for (int i = argc - 1; i > 0; --i) words.push_back(guarded(argv[i]));
    try {
      app_.parse(words);
    } catch (const CLI::RequiredError& error) {
      const std::vector<std::string> unknown = app_.remaining();
      if (unknown.empty()) return app_.exit(error) == 0 ? 0 : kWrongUsage;
      std::cerr << "opyard: there is no command '" << unknown.front()
                << "'; opyard --help lists them\n";
      return kWrongUsage;
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? 0 : kWrongUsage;
    }
    for (std::string* word : {&options_.plugin.slot, &options_.plugin.name, &options_.plugin.load,
                              &options_.plugin.file}) {
      unguard(word);
    }
    for (std::vector<std::string>* list : {&options_.words, &options_.files, &options_.outputs}) {
      for (std::string& word : *list) unguard(&word);
    }
    unguard(&options_.op);
    return chosen_(options_, std::cout);
  }

  const Options& options() const { return options_; }

 private:
  // The first line says what a command does; the rest comes after the options.
  static CLI::App* add_described(CLI::App& parent, const char* name, std::string_view help) {
    const size_t first = std::min(help.find('\n'), help.size());
    const std::string_view rest = help.substr(std::min(first + 1, help.size()));
    CLI::App* app = parent.add_subcommand(name, std::string(help.substr(0, first)));
    app->footer(str_cat("With every command: --address, --local, --json (see opyard --help).",
                        rest.empty() ? "" : "\n\n", rest.substr(rest.starts_with('\n'))));
    app->fallthrough();
    return app;
  }

  CLI::App* add(CLI::App& parent, const char* name, std::string_view help, Command command) {
    CLI::App* app = add_described(parent, name, help);
    app->callback([this, command] { chosen_ = command; });
    return app;
  }

  void add_trace() {
    CLI::App* app = add(app_, "trace", kTraceHelp, &trace);
    app->add_option("OP", options_.op, "the operator to call");
    app->add_option("ARG", options_.words, "arguments as in call");
    app->add_option("--op", options_.op_prefix, "show operators whose name starts so")->expected(1);
    app->add_option("--count", options_.count, "end after so many lines")->expected(1);
    app->add_option("--session", options_.session,
                    "token of the session to follow, 32 hexadecimal digits [OPYARD_SESSION]")
        ->expected(1);
  }

  void add_check() {
    CLI::App* check = add_described(app_, "check", kCheckHelp);
    check->require_subcommand(1);
    CLI::App* dispatch =
        add(*check, "dispatch", "Dispatcher scenarios, each in a dispatcher of its own",
            &check_dispatch);
    dispatch->add_option("FILE", options_.files, "YAML files")->required();
    CLI::App* check_ops_app = add(*check, "ops", "Operator results", &check_ops);
    check_ops_app->add_option("FILE", options_.files, "YAML files")->required();
    check_ops_app->add_option("--via", options_.via, "local or grpc")->capture_default_str();
    check_ops_app->add_option("--device", options_.device, "where tensors are")
        ->capture_default_str();
  }

  void add_plugin() {
    CLI::App* plugin = add_described(app_, "plugin", kPluginHelp);
    plugin->require_subcommand(1);
    PluginOptions& wanted = options_.plugin;
    plugin
        ->add_option("--admin-address", wanted.admin_address,
                     "unix:PATH of the daemon's admin socket (default: $OPYARD_ADMIN_ADDRESS, then "
                     "the daemon's address with .admin behind it)")
        ->expected(1);
    plugin->add_option("--timeout", wanted.timeout_seconds, "seconds that an answer may take")
        ->expected(1)
        ->capture_default_str();
    CLI::App* list = add(*plugin, "list", kPluginListHelp, &plugin_list);
    list->add_option("SLOT", wanted.slot, "this slot only");
    list->add_flag("--kernels", wanted.kernels, "a line for every kernel");
    list->add_flag("--all", wanted.all,
                   "closed and failed generations, too, and warnings in full length");
    list->add_option("--hits", wanted.hits_seconds,
                     "first count for so many seconds, at most 60, which calls enter each")
        ->expected(1);
    CLI::App* load = add(*plugin, "load", kPluginLoadHelp, &plugin_load);
    load->add_option("NAME", wanted.load, "the plugin")->required();
    add_probe(load);
    add_plugin_changes(plugin);
  }

  void add_plugin_changes(CLI::App* plugin) {
    PluginOptions& wanted = options_.plugin;
    CLI::App* swap = add(*plugin, "swap", kPluginSwapHelp, &plugin_swap);
    swap->add_option("SLOT", wanted.slot, "the slot")->required();
    swap->add_option("NAME", wanted.name, "the plugin that is to take it");
    swap->add_flag("--allow-schema-change", wanted.change.allow_schema_change,
                   "operators may get another schema");
    swap->add_flag("--allow-loss", wanted.change.allow_loss, "operators and kernels may go");
    swap->add_flag("--allow-downgrade", wanted.change.allow_downgrade,
                   "typed kernels may become boxed ones");
    add_probe(swap);
    add_tensors(swap);
    add_keep_warm(swap);
    CLI::App* unload = add(*plugin, "unload", kPluginUnloadHelp, &plugin_unload);
    unload->add_option("SLOT", wanted.slot, "the slot")->required();
    add_tensors(unload);
    CLI::App* rollback = add(*plugin, "rollback", kPluginRollbackHelp, &plugin_rollback);
    rollback->add_option("SLOT", wanted.slot, "the slot")->required();
    add_tensors(rollback);
    add_keep_warm(rollback);
    CLI::App* diff = add(*plugin, "diff", kPluginDiffHelp, &plugin_diff);
    diff->add_option("SLOT|FILE", wanted.slot, "the slot, or a build")->required();
    diff->add_option("NAME|FILE", wanted.name, "the plugin to compare with, or another build")
        ->required();
    CLI::App* validate = add(*plugin, "validate", kPluginValidateHelp, &plugin_validate);
    validate->add_option("FILE", wanted.file, "the plugin's file")->required();
    validate->add_option("--check", wanted.checks, "this check only, may be repeated")
        ->allow_extra_args(false);
    validate->add_option("--cycles", wanted.cycles, "how often it is loaded and unloaded")
        ->expected(1)
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}))
        ->capture_default_str();
    validate->add_option("--junit", wanted.junit, "write the report to this file, too")
        ->expected(1);
  }

  void add_probe(CLI::App* app) {
    app->add_flag("--no-probe", options_.plugin.no_probe,
                  "do not try it in a process of its own first");
  }
  void add_tensors(CLI::App* app) {
    app->add_option("--tensors", options_.plugin.change.tensors,
                    "of tensors in memory of the old one: keep them, share the memory with the new "
                    "one, or fail when they are used")
        ->expected(1)
        ->check(CLI::IsMember({"keep", "share", "fail"}))
        ->capture_default_str();
  }
  void add_keep_warm(CLI::App* app) {
    app->add_option("--keep-warm", options_.plugin.keep_warm_seconds,
                    "seconds that the old one stays ready for a rollback")
        ->expected(1);
  }

  static std::string guarded(std::string word) {
    const bool number = word.size() > 1 && word[0] == '-' &&
                        (std::isdigit(static_cast<unsigned char>(word[1])) || word[1] == '.' ||
                         word == "-inf" || word == "-nan" || word == "-Infinity");
    return number || word.starts_with('[') ? kGuard + word : word;
  }
  static void unguard(std::string* word) {
    if (word->starts_with(kGuard)) word->erase(0, 1);
  }

  Options options_;
  Command chosen_ = nullptr;
  CLI::App app_;
};

void report(const Options& options, std::string_view code, const std::string& message) {
  if (options.json) {
    std::cout << "{\"error\": {\"code\": " << quoted_json(std::string(code))
              << ", \"message\": " << quoted_json(message) << "}}\n";
  }
  std::cerr << "opyard: " << code << ": " << message << "\n";
}

int run(int argc, char** argv) {
  CommandLine line;
  try {
    return line.run(argc, argv);
  } catch (const UsageError& error) {
    report(line.options(), "USAGE", error.what());
    return kWrongUsage;
  } catch (const Error& error) {
    report(line.options(), code_name(error.code()), error.message());
  } catch (const std::exception& error) {
    report(line.options(), "INTERNAL", error.what());
  }
  return kFailed;
}

}  // namespace
}  // namespace opyard::cli

int main(int argc, char** argv) { return opyard::cli::run(argc, argv); }
