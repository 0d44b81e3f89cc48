#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace opyard::cli {

// Columns of the terminal that the output goes to; 0, for lines as long as they come, where it goes
// to a file or a pipe. $COLUMNS wins.
uint32_t output_width();

// While it lives, Ctrl-C (and SIGTERM) calls `stop`, once, on a thread of its own instead of ending
// the program. One at a time.
class Interrupts {
 public:
  explicit Interrupts(std::function<void()> stop);
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace opyard::cli
