#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "opyard/base/error.h"
#include "opyard/plugin/quiet_thread.h"

namespace opyard::plugin {

using Clock = std::chrono::steady_clock;

// The thread on which everything of one generation runs that the plugin interface calls [control].
// A function that hangs holds nobody but its own generation. Used by one owner at a time.
class ControlThread {
 public:
  // `on_done` is told, on that thread, whenever a step has ended. RESOURCE_EXHAUSTED when there is
  // no thread to be had.
  ControlThread(std::string_view name, std::function<void()> on_done);
  // No step may be under way.
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // Starts a step. None may be under way.
  void start(std::function<void()> step);
  // The same, and waits for it; false when it has not ended by then: it goes on. An exception of
  // the step is raised here.
  bool run(std::function<void()> step, Clock::time_point deadline);
  bool busy() const;
  // Lets the thread end, without waiting: true when it has ended, with the destructors of all that
  // it kept in thread-local variables. No step may be under way or follow.
  bool ended();
  // What the last step that ended left: an error, or nothing. Gives it away.
  std::optional<Error> take_error();

 private:
  void loop();

  const std::function<void()> on_done_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> step_;  // guarded by mutex_, as all below
  bool busy_ = false;
  bool ending_ = false;
  std::optional<Error> error_;
  QuietThread thread_;
};

}  // namespace opyard::plugin
