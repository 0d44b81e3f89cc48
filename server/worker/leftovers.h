#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace opyard::worker {

// What a process has that a plugin may leave behind.
struct Belongings {
  std::map<std::string, std::string> threads;  // id → name, which a new thread gives itself late
  std::vector<std::string> descriptors;        // "5 -> /dev/null"
  size_t free_keys = 0;                        // of pthread_key_create
};

Belongings look_around();

// What is there now and was not before. `keys` are named apart: their destructors run whenever a
// thread ends.
struct Leftovers {
  std::vector<std::string> things;
  size_t keys = 0;
};
Leftovers compare(const Belongings& before, const Belongings& after);

}  // namespace opyard::worker
