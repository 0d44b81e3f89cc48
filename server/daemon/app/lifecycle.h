#pragma once

#include <chrono>
#include <functional>

namespace opyard::daemon {

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in all that it makes later, and ignores
// SIGPIPE. Call it before the first thread is made.
void block_signals();

// Waits for SIGTERM or SIGINT, then runs `drain` on a thread of its own and returns when it is
// done. A second signal in the meantime ends the process at once with status 128 + signal. SIGHUP
// is noted in the log and otherwise ignored: there is nothing yet to read again.
void run_until_signalled(const std::function<void()>& drain);

}  // namespace opyard::daemon
