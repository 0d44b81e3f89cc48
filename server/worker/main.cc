#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "checks.h"
#include "life.h"
#include "opyard/base/check.h"
#include "opyard/base/fingerprint.h"
#include "opyard/plugin/describe.h"
#include "opyard/plugin/lint.h"
#include "opyard/plugin/probe.h"
#include "report.h"

namespace opyard::worker {
namespace {

constexpr char kHelp[] =
    "opyard-worker: plugins in a process of their own.\n\n"
    "usage: opyard-worker lint FILE            what a plugin says of itself, without running it\n"
    "       opyard-worker describe FILE        what it brings, as JSON\n"
    "       opyard-worker diff FILE FILE       what a second build changes, as JSON\n"
    "       opyard-worker probe FILE           a whole life of it; the report goes to descriptor "
    "3\n"
    "       opyard-worker checks               the names of the checks\n"
    "       opyard-worker check NAME FILE [N]  one of them; the report goes to descriptor 3\n";

// Goes with whoever started it, and leaves no core file of somebody else's fault.
void bind_to_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

int probe(const std::string& path) {
  bind_to_parent();
  const plugin::Verdict verdict = live(path, &report_step);
  report_result(plugin::to_json(verdict));
  // Destructors of what the plugin left behind are not our business any more.
  _exit(verdict.lived ? 0 : 1);
}

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  OPYARD_CHECK(size > 0, kInternal, "this program does not know where it is");
  return {path.data(), static_cast<size_t>(size)};
}

// What a build brings, as it says itself in a process of its own.
plugin::Description description_of(const std::string& path) {
  constexpr std::chrono::milliseconds kPatience{30'000};
  static_cast<void>(plugin::lint(path));
  const plugin::Verdict verdict = plugin::probe(own_path(), path, kPatience);
  OPYARD_CHECK(verdict.lived, kFailedPrecondition, "'", path,
               "' cannot be described: ", verdict.problem);
  return verdict.description;
}

int describe(const std::string& path) {
  std::printf("%s\n", plugin::to_json(description_of(path)).c_str());
  return 0;
}

// An error is part of what it prints, for programs that read it.
int diff(const std::string& before, const std::string& after) {
  nlohmann::json json = nlohmann::json::array();
  try {
    for (const plugin::Difference& one :
         plugin::compare(description_of(before), description_of(after))) {
      json.push_back({{"kind", plugin::to_string(one.kind)},
                      {"what", one.what},
                      {"before", one.before},
                      {"after", one.after},
                      {"needs", one.needs}});
    }
  } catch (...) {
    const Error error = current_error();
    json = {{"code", code_name(error.code())}, {"message", error.message()}};
  }
  std::printf("%s\n", json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
  return json.is_array() ? 0 : 1;
}

int list_checks() {
  for (const Check& check : checks()) {
    std::printf("%.*s\t%.*s\n", static_cast<int>(check.name.size()), check.name.data(),
                static_cast<int>(check.what.size()), check.what.data());
  }
  return 0;
}

int check(const std::string& name, const CheckInput& input) {
  bind_to_parent();
  CheckResult result;
  try {
    result = find_check(name).run(input);
  } catch (...) {
    result = failed(current_error().message());
  }
  report_result(to_json(result));
  _exit(result.passed ? 0 : 1);
}

uint64_t number_of(const char* text) {
  uint64_t number = 0;
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, number);
  OPYARD_CHECK(read.ec == std::errc() && read.ptr == end && number > 0, kInvalidArgument,
               "the number of cycles is '", text, "'");
  return number;
}

void print_list(const char* title, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) std::printf("%-10s %s\n", title, text.c_str());
}

// Typed kernels of another build are refused when they are loaded; their author hears of it here.
void warn_of_another_build(const std::string& theirs) {
  constexpr const char* kOwn = OPYARD_BUILD_FINGERPRINT;
  if (theirs.empty() || theirs == kOwn) return;
  std::printf(
      "%-10s It was built against other headers or with another compiler ('%s') than this library "
      "('%s'), which refuses its C++ kernels.\n",
      "warning", theirs.c_str(), kOwn);
}

int lint(const std::string& path) {
  const plugin::LintReport report = plugin::lint(path);
  const plugin::NoteFacts& note = report.note;
  std::printf("%s %s, interface %s to %s\n", note.name.c_str(), note.version.c_str(),
              plugin::abi_text(note.abi_min).c_str(), plugin::abi_text(note.abi_max).c_str());
  print_list("claims", note.claims);
  print_list("needs", report.needed);
  print_list("pinned", report.pinned_dependencies);
  print_list("stays", report.pins);
  print_list("warning", report.warnings);
  warn_of_another_build(note.fingerprint);
  print_list("remark", report.remarks);
  return 0;
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") return std::fputs(kHelp, stdout), 0;
  if (argc == 3 && command == "probe") return probe(argv[2]);
  if (argc == 3 && command == "lint") return lint(argv[2]);
  if (argc == 3 && command == "describe") return describe(argv[2]);
  if (argc == 4 && command == "diff") return diff(argv[2], argv[3]);
  if (argc == 2 && command == "checks") return list_checks();
  if (argc == 4 && command == "check") return check(argv[2], {argv[3]});
  if (argc == 5 && command == "check") return check(argv[2], {argv[3], number_of(argv[4])});
  std::fputs(kHelp, stderr);
  return 2;
}

}  // namespace
}  // namespace opyard::worker

int main(int argc, char** argv) {
  try {
    return opyard::worker::run(argc, argv);
  } catch (...) {
    std::fprintf(stderr, "opyard-worker: %s\n", opyard::current_error().message().c_str());
    return 1;
  }
}
