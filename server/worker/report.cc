#include "report.h"

#include <unistd.h>

#include "opyard/base/check.h"

namespace opyard::worker {
namespace {

constexpr int kReportFd = 3;

void write_line(std::string line) {
  line += '\n';
  for (size_t at = 0; at < line.size();) {
    const ssize_t count = write(kReportFd, line.data() + at, line.size() - at);
    if (count <= 0) return;
    at += static_cast<size_t>(count);
  }
}

}  // namespace

void report_step(std::string_view what) { write_line(str_cat("step ", what)); }
void report_progress(uint64_t done, uint64_t of) {
  write_line(str_cat("progress ", done, " ", of));
}
void report_result(std::string_view json) { write_line(std::string(json)); }

}  // namespace opyard::worker
