#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace opyard {

// How a child came to its end.
struct ChildEnd {
  bool in_time = true;  // false: it had to be ended
  int status = 0;       // as wait() gives it
  // "it died by SIGSEGV", "it left the process with the status 3"
  std::string text() const;
};

// Runs a program that reports in lines on its descriptor `report`, and tells `on_line` of each
// (without its end, one without end at the close too) until that says false, the program closes the
// descriptor, has written 8 MiB, or the patience is over. Then it is killed, if need be: nothing of
// worth comes after a report. The program gets no other descriptor of ours, no input, no blocked
// signals; what it prints is lost. `words` begins with the program's path. Raises UNAVAILABLE when
// it cannot be started. Any thread; does not copy this process.
ChildEnd run_child(std::vector<std::string> words, std::chrono::milliseconds patience,
                   const std::function<bool(std::string_view line)>& on_line, int report = 3);

}  // namespace opyard
