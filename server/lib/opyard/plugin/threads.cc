#include "opyard/plugin/threads.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <semaphore>
#include <system_error>
#include <thread>

namespace opyard::plugin {
namespace {

constexpr size_t kDescriptorBytes = 4096;  // more than the C library's has, as far as is readable

// Reads through the kernel: a place that is gone is an error, no fault. Returns what could be read.
size_t read_memory(uintptr_t from, void* to, size_t size) noexcept {
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(from), size};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

uintptr_t word_at(uintptr_t place) noexcept {
  uintptr_t word = 0;
  return read_memory(place, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

uintptr_t robust_head(int64_t thread) noexcept {
  void* head = nullptr;
  size_t size = 0;
  return syscall(SYS_get_robust_list, thread, &head, &size) == 0 ? reinterpret_cast<uintptr_t>(head)
                                                                 : 0;
}

// It is there and has none; a thread that has ended meanwhile is an error of the call instead.
bool is_without_list(int64_t thread) noexcept {
  void* head = nullptr;
  size_t size = 0;
  return syscall(SYS_get_robust_list, thread, &head, &size) == 0 && !head;
}

// Distances from a thread's descriptor, which pthread_t points to.
struct Layout {
  uintptr_t robust = 0;
  uintptr_t id = 0;
  uintptr_t routine = 0;
  uintptr_t argument = 0;
};

struct Probe {
  std::binary_semaphore known{0};
  std::binary_semaphore done{0};
  pid_t id = 0;
};

void* probe(void* argument) {
  auto& mine = *static_cast<Probe*>(argument);
  mine.id = static_cast<pid_t>(syscall(SYS_gettid));
  mine.known.release();
  mine.done.acquire();
  return nullptr;
}

// The only place in `bytes` where the value stands, aligned to its size.
template <typename T>
std::optional<uintptr_t> only_place(const std::array<char, kDescriptorBytes>& bytes, size_t size,
                                    T value, uintptr_t from = 0) {
  for (uintptr_t at = from; at + sizeof(T) <= size; at += sizeof(T)) {
    if (std::memcmp(bytes.data() + at, &value, sizeof(T)) == 0) return at;
  }
  return std::nullopt;
}

std::optional<Layout> measure(pthread_t thread, const Probe& known) {
  const auto descriptor = static_cast<uintptr_t>(thread);
  const uintptr_t head = robust_head(known.id);
  if (head <= descriptor || head - descriptor >= kDescriptorBytes) return std::nullopt;
  std::array<char, kDescriptorBytes> bytes{};
  const size_t size = read_memory(descriptor, bytes.data(), bytes.size());
  const auto id = only_place(bytes, size, known.id);
  const auto routine = only_place(bytes, size, reinterpret_cast<uintptr_t>(&probe));
  if (!id || !routine) return std::nullopt;
  const auto argument =
      only_place(bytes, size, reinterpret_cast<uintptr_t>(&known), *routine + sizeof(uintptr_t));
  if (!argument) return std::nullopt;
  return Layout{head - descriptor, *id, *routine, *argument};
}

std::optional<Layout> measure_with_a_thread() {
  Probe known;
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, &probe, &known) != 0) return std::nullopt;
  known.known.acquire();
  const std::optional<Layout> layout = measure(thread, known);
  known.done.release();
  pthread_join(thread, nullptr);
  return layout;
}

const std::optional<Layout>& layout() {
  static const std::optional<Layout> measured = measure_with_a_thread();
  return measured;
}

uint64_t ticks_of(int64_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  // The second field is a name in parentheses, with anything in it; the time is the 22nd.
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  uint64_t ticks = 0;
  if (at == std::string::npos) return ticks;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  return ticks;
}

std::vector<int64_t> thread_ids() {
  std::vector<int64_t> ids;
  std::error_code error;
  namespace fs = std::filesystem;
  for (auto entry = fs::directory_iterator("/proc/self/task", error);
       !error && entry != fs::end(entry); entry.increment(error)) {
    const std::string text = entry->path().filename().string();
    std::from_chars(text.data(), text.data() + text.size(), ids.emplace_back());
  }
  return ids;
}

std::optional<ThreadStart> start_of(int64_t thread, const Layout& at) {
  const uintptr_t head = robust_head(thread);
  if (head <= at.robust) return std::nullopt;
  const uintptr_t descriptor = head - at.robust;
  // Is that a descriptor, and this thread's?
  pid_t id = 0;
  if (read_memory(descriptor + at.id, &id, sizeof(id)) != sizeof(id) || id != thread) {
    return std::nullopt;
  }
  ThreadStart start{{thread, ticks_of(thread)},
                    word_at(descriptor + at.routine),
                    word_at(descriptor + at.argument),
                    0};
  start.first_word = start.argument ? word_at(start.argument) : 0;
  return start;
}

// A thread that has not run yet has no robust list: it sets that itself, first of all. Gives it
// time to; one that was made by the clone call alone never does.
void await_newborn_threads() {
  constexpr std::chrono::milliseconds kStep{1};
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<int64_t> ids = thread_ids();
    if (std::none_of(ids.begin(), ids.end(), is_without_list)) return;
    std::this_thread::sleep_for(kStep);
  }
}

}  // namespace

std::vector<ThreadKey> running_threads() {
  std::vector<ThreadKey> keys;
  for (const int64_t id : thread_ids()) keys.push_back({id, ticks_of(id)});
  return keys;
}

bool can_see_thread_starts() { return layout().has_value(); }

std::vector<ThreadStart> thread_starts() {
  std::vector<ThreadStart> starts;
  const std::optional<Layout>& at = layout();
  if (!at) return starts;
  await_newborn_threads();
  for (const int64_t id : thread_ids()) {
    if (const auto start = start_of(id, *at)) starts.push_back(*start);
  }
  return starts;
}

std::string thread_name(int64_t id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace opyard::plugin
