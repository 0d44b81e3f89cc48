#pragma once

#include <string_view>

namespace opyard {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Receives every line that the library has to say. It may be called from any thread, at the same
// time from several, and must not throw.
using LogSink = void (*)(LogLevel level, std::string_view message);

// Replaces the sink; nullptr brings silence back, which is also how the library starts: it never
// prints by itself. Any thread.
void set_log_sink(LogSink sink) noexcept;

void log(LogLevel level, std::string_view message) noexcept;

}  // namespace opyard
