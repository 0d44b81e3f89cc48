#include "app/options.h"

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <variant>

#include "app/version.h"
#include "opyard/base/check.h"

namespace opyard::daemon {
namespace {

using Field = std::variant<Text Options::*, Texts Options::*, bool Options::*, uint64_t Options::*>;

struct Option {
  std::string name;  // with underscores
  const char* doc;
  Field field;

  std::string flag() const {
    std::string text = "--" + name;
    for (char& c : text) c = c == '_' ? '-' : c;
    return text;
  }
  std::string variable() const {
    std::string text = "OPYARD_" + name;
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return text;
  }
};

const std::vector<Option>& all_options() {
  static const std::vector<Option> options = {
#define OPYARD_OPTION_ROW(type, name, value, doc) {#name, doc, &Options::name},
      OPYARD_DAEMON_OPTIONS(OPYARD_OPTION_ROW)
#undef OPYARD_OPTION_ROW
  };
  return options;
}

[[noreturn]] void bad_value(const std::string& where, std::string_view got, const char* wanted) {
  raise(Code::kInvalidArgument, str_cat(where, ": '", got, "' is not ", wanted));
}

uint64_t parse_number(const std::string& where, std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    bad_value(where, text, "a whole number from 0 up");
  }
  return value;
}

bool parse_bool(const std::string& where, std::string_view text) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") return true;
  if (text == "0" || text == "false" || text == "no" || text == "off") return false;
  bad_value(where, text, "true or false");
}

Texts split(std::string_view text) {
  Texts parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (comma != 0) parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

// One value as text, from the environment.
struct FromText {
  Options& options;
  const std::string& where;
  std::string_view text;
  void operator()(Text Options::*field) const { options.*field = std::string(text); }
  void operator()(Texts Options::*field) const { options.*field = split(text); }
  void operator()(bool Options::*field) const { options.*field = parse_bool(where, text); }
  void operator()(uint64_t Options::*field) const { options.*field = parse_number(where, text); }
};

// One value of the configuration file.
struct FromToml {
  Options& options;
  const std::string& where;
  const toml::node& node;

  void operator()(Text Options::*field) const {
    const auto value = node.value_exact<std::string>();
    if (!value) wrong("a text");
    options.*field = *value;
  }
  void operator()(Texts Options::*field) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) wrong("an array of texts");
    Texts texts;
    for (const toml::node& item : *array) {
      const auto value = item.value_exact<std::string>();
      if (!value) wrong("an array of texts");
      texts.push_back(*value);
    }
    options.*field = std::move(texts);
  }
  void operator()(bool Options::*field) const {
    const auto value = node.value_exact<bool>();
    if (!value) wrong("true or false");
    options.*field = *value;
  }
  void operator()(uint64_t Options::*field) const {
    const auto value = node.value_exact<int64_t>();
    if (!value || *value < 0) wrong("a whole number from 0 up");
    options.*field = static_cast<uint64_t>(*value);
  }
  [[noreturn]] void wrong(const char* wanted) const {
    raise(Code::kInvalidArgument, str_cat(where, ": wanted ", wanted));
  }
};

void apply_file(const std::string& path, Options& options) {
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    raise(Code::kInvalidArgument, str_cat("configuration file ", path, ", line ",
                                          error.source().begin.line, ": ", error.description()));
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = str_cat("configuration file ", path, ", line ",
                                      node.source().begin.line, ", key '", name, "'");
    const Option* found = nullptr;
    for (const Option& option : all_options()) {
      if (option.name == name) found = &option;
    }
    OPYARD_CHECK(found != nullptr, kInvalidArgument, where,
                 ": there is no such option; opyardd --print-config lists all of them");
    std::visit(FromToml{options, where, node}, found->field);
  }
}

void apply_environment(Options& options) {
  for (const Option& option : all_options()) {
    const std::string variable = option.variable();
    const char* text = std::getenv(variable.c_str());
    if (text == nullptr) continue;
    const std::string where = "environment variable " + variable;
    std::visit(FromText{options, where, text}, option.field);
  }
}

// The flags that were given, as texts; the values are read like those of the environment, so that
// both sources have one set of rules.
struct Flags {
  CLI::App app{"opyardd: routes operator calls to the kernels of its plugins"};
  std::string config;
  bool version = false;
  bool print_config = false;
  std::vector<Texts> values = std::vector<Texts>(all_options().size());
  std::vector<CLI::Option*> given;

  Flags() {
    app.add_option("--config", config,
                   "Configuration file in TOML; also OPYARD_CONFIG. Keys are the options' names");
    app.add_flag("--version", version, "Print the version and leave");
    app.add_flag("--print-config", print_config,
                 "Print the options in force as a configuration file and leave");
    for (size_t i = 0; i < all_options().size(); ++i) {
      const Option& option = all_options()[i];
      const std::string doc = std::string(option.doc) + " [" + option.variable() + "]";
      if (std::holds_alternative<bool Options::*>(option.field)) {
        given.push_back(app.add_flag(option.flag(), doc));
        continue;
      }
      CLI::Option* added = app.add_option(option.flag(), values[i], doc);
      added->type_size(1)->expected(1);
      if (std::holds_alternative<Texts Options::*>(option.field)) {
        added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
      } else {
        added->multi_option_policy(CLI::MultiOptionPolicy::Throw);
      }
      given.push_back(added);
    }
    app.footer(
        "Each option can also be set by the environment variable in brackets, or in the "
        "configuration file.\nSIGTERM drains and leaves with status 0; a second signal leaves at "
        "once.");
  }

  void apply(Options& options) const {
    for (size_t i = 0; i < all_options().size(); ++i) {
      if (given[i]->count() == 0) continue;
      const Option& option = all_options()[i];
      if (const auto* list = std::get_if<Texts Options::*>(&option.field)) {
        options.*(*list) = values[i];
      } else if (const auto* flag = std::get_if<bool Options::*>(&option.field)) {
        options.*(*flag) = parse_bool(option.flag(), given[i]->results().back());
      } else {
        const std::string where = option.flag();
        std::visit(FromText{options, where, values[i].front()}, option.field);
      }
    }
  }
};

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

}  // namespace

CommandLine read_command_line(int argc, const char* const* argv) {
  Flags flags;
  CommandLine result;
  try {
    flags.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    result.done = true;
    result.text = flags.app.help();
    return result;
  } catch (const CLI::ParseError& error) {
    raise(Code::kInvalidArgument, str_cat(error.what(), "; opyardd --help lists the options"));
  }
  if (flags.version) {
    result.done = true;
    result.text = std::string(kServerName) + "\n";
    return result;
  }
  const char* from_environment = std::getenv("OPYARD_CONFIG");
  if (flags.config.empty() && from_environment != nullptr) flags.config = from_environment;
  if (!flags.config.empty()) apply_file(flags.config, result.options);
  apply_environment(result.options);
  flags.apply(result.options);
  if (flags.print_config) {
    result.done = true;
    result.text = to_toml(result.options);
  }
  return result;
}

std::string to_toml(const Options& options) {
  std::ostringstream out;
  out << "# Options of opyardd.\n";
  for (const Option& option : all_options()) {
    out << "\n# " << option.doc << ".\n" << option.name << " = ";
    if (const auto* text = std::get_if<Text Options::*>(&option.field)) {
      out << quoted(options.*(*text));
    } else if (const auto* flag = std::get_if<bool Options::*>(&option.field)) {
      out << (options.*(*flag) ? "true" : "false");
    } else if (const auto* number = std::get_if<uint64_t Options::*>(&option.field)) {
      out << options.*(*number);
    } else {
      const Texts& texts = options.*std::get<Texts Options::*>(option.field);
      out << '[';
      for (size_t i = 0; i < texts.size(); ++i) out << (i == 0 ? "" : ", ") << quoted(texts[i]);
      out << ']';
    }
    out << '\n';
  }
  return out.str();
}

}  // namespace opyard::daemon
