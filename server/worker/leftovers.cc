#include "leftovers.h"

#include <pthread.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "opyard/base/check.h"

namespace opyard::worker {
namespace {

namespace fs = std::filesystem;

std::string thread_name(const fs::path& task) {
  std::string name;
  std::getline(std::ifstream(task / "comm"), name);
  return name;
}

size_t count_free_keys() {
  std::vector<pthread_key_t> keys;
  for (pthread_key_t key = 0; pthread_key_create(&key, nullptr) == 0;) keys.push_back(key);
  for (const pthread_key_t key : keys) pthread_key_delete(key);
  return keys.size();
}

}  // namespace

Belongings look_around() {
  Belongings found;
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/self/task", error)) {
    found.threads[task.path().filename().string()] = thread_name(task.path());
  }
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.find("/proc/") != 0) {  // the directory that is being read
      found.descriptors.push_back(entry.path().filename().string() + " -> " + target);
    }
  }
  found.free_keys = count_free_keys();
  return found;
}

Leftovers compare(const Belongings& before, const Belongings& after) {
  Leftovers left;
  for (const auto& [id, name] : after.threads) {
    if (!before.threads.contains(id)) {
      left.things.push_back(str_cat("the thread ", name, " (", id, ")"));
    }
  }
  for (const std::string& one : after.descriptors) {
    if (std::find(before.descriptors.begin(), before.descriptors.end(), one) ==
        before.descriptors.end()) {
      left.things.push_back("the descriptor " + one);
    }
  }
  left.keys = before.free_keys > after.free_keys ? before.free_keys - after.free_keys : 0;
  return left;
}

}  // namespace opyard::worker
