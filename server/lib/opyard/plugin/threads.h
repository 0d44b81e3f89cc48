#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace opyard::plugin {

// A thread that a library started.
struct ThreadInside {
  int64_t id = 0;  // as in /proc/self/task
  std::string name;
};

// Tells a thread from all others of the process, earlier ones too.
struct ThreadKey {
  int64_t id = 0;
  uint64_t started = 0;  // in ticks since the machine was; 0 when the kernel does not say
  friend bool operator==(const ThreadKey&, const ThreadKey&) = default;
};
std::vector<ThreadKey> running_threads();

// Where a thread began, as the C library keeps it.
struct ThreadStart {
  ThreadKey key;
  uintptr_t routine = 0;
  uintptr_t argument = 0;
  uintptr_t first_word = 0;  // at `argument`; 0 when nothing can be read there
};

// How the threads of this process were started. Each thread's descriptor in the C library is found
// through its robust list, whose head lies in it; where the fields are is measured once with a
// thread of our own. Memory is read through the kernel, so that a thread that ends meanwhile is
// left out and no fault. Waits some milliseconds for threads that have not begun to run yet. Left
// out are also threads made by the clone call alone, and under a
// sanitizer, which puts a routine of its own first, a thread looks like the sanitizer's. Any
// thread.
std::vector<ThreadStart> thread_starts();

// False where the C library keeps it in a way that could not be measured; thread_starts is empty
// then.
bool can_see_thread_starts();

std::string thread_name(int64_t id);

}  // namespace opyard::plugin
