#pragma once

#include <string>

namespace opyard::daemon {

// Sends libopyard's log lines to the standard error output, or to `file` when it is not empty
// (appended, made with mode 0600). `level` is debug, info, warning or error; INVALID_ARGUMENT for
// another word, FAILED_PRECONDITION when the file cannot be opened. Call it once, early.
void start_logging(const std::string& level, const std::string& file);

}  // namespace opyard::daemon
