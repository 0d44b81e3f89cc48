#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace opyard::torture {

// A program that was started, and is ended with this object. Used by one thread.
class Process {
 public:
  // Its output goes to `log`; empty: nowhere. Raises when it cannot be started.
  Process(std::vector<std::string> command, const std::string& log);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string number() const { return std::to_string(id_); }
  void signal(int number) const;
  // Its exit status, 128 + N after a signal; -1 when it has not left within the time.
  int wait(int seconds);
  bool has_left() { return wait(0) != -1; }

 private:
  pid_t id_ = -1;
  int status_ = -1;
};

}  // namespace opyard::torture
