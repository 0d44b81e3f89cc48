#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "life.h"
#include "opyard/base/check.h"
#include "opyard/plugin/lint.h"

namespace opyard::worker {
namespace {

constexpr int kReportFd = 3;

constexpr char kHelp[] =
    "opyard-worker: plugins in a process of their own.\n\n"
    "usage: opyard-worker lint FILE    what a plugin says of itself, without running it\n"
    "       opyard-worker probe FILE   a whole life of it; the report goes to descriptor 3\n";

// Goes with whoever started it, and leaves no core file of somebody else's fault.
void bind_to_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

void write_line(std::string line) {
  line += '\n';
  for (size_t at = 0; at < line.size();) {
    const ssize_t count = write(kReportFd, line.data() + at, line.size() - at);
    if (count <= 0) return;
    at += static_cast<size_t>(count);
  }
}

int probe(const std::string& path) {
  bind_to_parent();
  const plugin::Verdict verdict =
      live(path, [](std::string_view step) { write_line(str_cat("step ", step)); });
  write_line(plugin::to_json(verdict));
  // Destructors of what the plugin left behind are not our business any more.
  _exit(verdict.lived ? 0 : 1);
}

void print_list(const char* title, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) std::printf("%-10s %s\n", title, text.c_str());
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
  print_list("remark", report.remarks);
  return 0;
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") return std::fputs(kHelp, stdout), 0;
  if (argc == 3 && command == "probe") return probe(argv[2]);
  if (argc == 3 && command == "lint") return lint(argv[2]);
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
