#pragma once

#include <pthread.h>

#include <functional>
#include <string_view>

namespace opyard::plugin {

// A thread of the host's own: signals are for the threads of whoever embeds us, so it takes none.
class QuietThread {
 public:
  QuietThread() noexcept = default;
  // RESOURCE_EXHAUSTED when there is none to be had. `body` must not throw.
  QuietThread(std::string_view name, std::function<void()> body);
  QuietThread(QuietThread&& other) noexcept;
  QuietThread& operator=(QuietThread&& other) noexcept;
  // Waits for its end.
  ~QuietThread() { join(); }

  bool joinable() const noexcept { return started_; }
  void join() noexcept;
  // Does not wait: true when it has ended, with all that ran at its end, and is joined.
  bool try_join() noexcept;
  // It goes on by itself, and is not waited for.
  void detach() noexcept;

 private:
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace opyard::plugin
