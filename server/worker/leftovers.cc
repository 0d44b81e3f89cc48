#include "leftovers.h"

#include <pthread.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "opyard/base/check.h"

namespace opyard::worker {
namespace {

namespace fs = std::filesystem;

std::string thread_name(const fs::path& task) {
  std::string name;
  std::getline(std::ifstream(task / "comm"), name);
  return name + " (" + task.filename().string() + ")";
}

size_t count_free_keys() {
  std::vector<pthread_key_t> keys;
  for (pthread_key_t key = 0; pthread_key_create(&key, nullptr) == 0;) keys.push_back(key);
  for (const pthread_key_t key : keys) pthread_key_delete(key);
  return keys.size();
}

void add_new(std::string_view what, const std::vector<std::string>& before,
             const std::vector<std::string>& after, std::vector<std::string>* out) {
  for (const std::string& one : after) {
    if (std::find(before.begin(), before.end(), one) == before.end()) {
      out->push_back(str_cat("the ", what, " ", one));
    }
  }
}

}  // namespace

Belongings look_around() {
  Belongings found;
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/self/task", error)) {
    found.threads.push_back(thread_name(task.path()));
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
  add_new("thread", before.threads, after.threads, &left.things);
  add_new("descriptor", before.descriptors, after.descriptors, &left.things);
  left.keys = before.free_keys > after.free_keys ? before.free_keys - after.free_keys : 0;
  return left;
}

}  // namespace opyard::worker
