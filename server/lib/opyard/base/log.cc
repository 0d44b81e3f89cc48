#include "opyard/base/log.h"

#include <atomic>

namespace opyard {
namespace {
std::atomic<LogSink> sink{nullptr};
}  // namespace

void set_log_sink(LogSink new_sink) noexcept { sink.store(new_sink, std::memory_order_release); }

void log(LogLevel level, std::string_view message) noexcept {
  if (const LogSink current = sink.load(std::memory_order_acquire)) current(level, message);
}

}  // namespace opyard
