#include "app/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace opyard::daemon {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

void write_line(LogLevel level, std::string_view message) {
  spdlog::default_logger_raw()->log(to_spdlog(level),
                                    spdlog::string_view_t(message.data(), message.size()));
}

spdlog::level::level_enum parse_level(const std::string& word) {
  if (word == "debug") return spdlog::level::debug;
  if (word == "info") return spdlog::level::info;
  if (word == "warning") return spdlog::level::warn;
  if (word == "error") return spdlog::level::err;
  raise(Code::kInvalidArgument,
        str_cat("the log level '", word, "' is not one of debug, info, warning, error"));
}

spdlog::sink_ptr make_sink(const std::string& file) {
  if (file.empty()) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  OPYARD_CHECK(fd >= 0, kFailedPrecondition, "cannot open the log file ", file, ": ",
               std::generic_category().message(errno));
  close(fd);
  return std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
}

}  // namespace

void start_logging(const std::string& level, const std::string& file) {
  const spdlog::level::level_enum wanted = parse_level(level);
  auto logger = std::make_shared<spdlog::logger>("opyardd", make_sink(file));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
  logger->set_level(wanted);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  set_log_sink(&write_line);
}

}  // namespace opyard::daemon
