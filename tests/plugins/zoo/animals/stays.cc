// Animals that have something in the process that would keep them mapped, or would call them when
// they are gone. STAYS_… says which.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <memory>
#include <thread>
#ifdef STAYS_regex
#include <regex>
#include <string>
#endif

#include "skeleton.h"

#pragma GCC visibility push(hidden)
extern "C" {

#if defined(STAYS_unique_symbols)
}
// One for the whole process, by way of a unique symbol (compiled without what the SDK sets).
#pragma GCC visibility push(default)
inline int& counted() {
  static int count = 0;
  return count;
}
#pragma GCC visibility pop
extern "C" {
int32_t on_g(opyard_call*, const opyard_value* in, opyard_value* out) {
  ++counted();
  out[0] = in[0];
  return 0;
}

#elif defined(STAYS_make_shared)
// Brings a unique symbol of the standard library along.
int32_t on_g(opyard_call*, const opyard_value* in, opyard_value* out) {
  const auto made = std::make_shared<opyard_value>(in[0]);
  out[0] = *made;
  return 0;
}

#elif defined(STAYS_regex)
// The same, of a part of the standard library that the library does not use itself.
int32_t on_g(opyard_call*, const opyard_value* in, opyard_value* out) {
  static const std::regex digits("[0-9]+");
  out[0] = in[0];
  return std::regex_match(std::to_string(in[0].payload), digits) ? 0 : 13;
}

#elif defined(STAYS_thread_destructor)
namespace {
struct Leaves {
  int value = 0;
  ~Leaves() { value = -1; }
};
thread_local Leaves leaves;
}  // namespace
int32_t on_g(opyard_call*, const opyard_value* in, opyard_value* out) {
  ++leaves.value;
  out[0] = in[0];
  return 0;
}

#elif defined(STAYS_pthread_key)
static pthread_key_t key;
static void forget(void*) {}
int32_t on_init(opyard_status*) { return pthread_key_create(&key, &forget) == 0 ? 0 : 8; }
int32_t on_g(opyard_call*, const opyard_value* in, opyard_value* out) {
  out[0] = in[0];
  return pthread_setspecific(key, &key);
}

#elif defined(STAYS_at_exit)
static void say_goodbye() {}
int32_t on_init(opyard_status*) { return atexit(&say_goodbye); }

#elif defined(STAYS_on_exit)
static void say_goodbye(int, void*) {}
int32_t on_init(opyard_status*) { return on_exit(&say_goodbye, nullptr); }

#elif defined(STAYS_detached_thread)
static void* lingers(void*) {
  for (;;) pause();
}
int32_t on_init(opyard_status*) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &lingers, nullptr) != 0) return 8;
  pthread_setname_np(thread, "lingers");
  return pthread_detach(thread);
}

#elif defined(STAYS_std_thread)
int32_t on_init(opyard_status*) {
  static std::atomic<bool> never{false};
  static auto& thread = *new std::thread([] { never.wait(false); });
  pthread_setname_np(thread.native_handle(), "never ends");
  return 0;
}

#elif defined(STAYS_signal_handler)
static void handle(int) {}
int32_t on_init(opyard_status*) { return std::signal(SIGUSR2, &handle) == SIG_ERR ? 13 : 0; }

#elif defined(STAYS_terminate_handler)
static void end() { abort(); }
int32_t on_init(opyard_status*) {
  std::set_terminate(&end);
  return 0;
}

#elif defined(STAYS_openmp)
int32_t on_g(opyard_call*, const opyard_value* in, opyard_value* out) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
  for (int i = 0; i < 100; ++i) sum += i;
  out[0] = in[0];
  return sum == 4950 ? 0 : 13;
}

#elif defined(STAYS_library)
__attribute__((visibility("default"))) int library_answer();
int32_t on_g(opyard_call*, const opyard_value* in, opyard_value* out) {
  out[0] = in[0];
  out[0].payload = static_cast<uint64_t>(library_answer());
  return 0;
}
#endif
}
#pragma GCC visibility pop
