// One module of the tests of lint, copies and images; MODULE_… says what is special about it. Its
// entry takes the test's Control in place of the host's fingerprint and answers with ANSWER.
#include "module.h"

#include <pthread.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>

#include "opyard_note.h"

#ifndef ANSWER
#define ANSWER 1
#endif

#ifndef MODULE_no_note
OPYARD_NOTE("module", "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU,device:toy", "", "");
#endif

#ifdef MODULE_two_notes
namespace second {
OPYARD_NOTE("module", "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU", "", "");
}
#endif

#ifdef MODULE_unique
inline int& counted() {
  static int count = 0;  // one for the whole process, by way of a unique symbol
  return count;
}
#endif

#if defined(MODULE_static_tls)
thread_local int in_static_block = 1;
#elif defined(MODULE_static_tls_of_another)
extern thread_local int in_static_block;
#endif

#ifdef MODULE_text_relocation
asm(".text\n.quad text_relocation_here\ntext_relocation_here: .quad 0\n.globl "
    "text_relocation_here\n");
#endif

#ifdef MODULE_missing
extern "C" int opyard_test_that_is_nowhere();
#endif

#if defined(MODULE_private) || defined(MODULE_needs_cuda) || defined(MODULE_private_unique) || \
    defined(MODULE_sticky) || defined(MODULE_stays)
#define MODULE_calls_library
extern "C" int library_answer();
#endif

#ifdef MODULE_exports
extern "C" {
__attribute__((visibility("default"))) int another_export = 1;
__attribute__((visibility("default"))) void a_second_export() {}
}
#endif

namespace {

#ifdef MODULE_thread_destructor
struct Leaves {
  int value = 0;
  ~Leaves() { value = -1; }
};
thread_local Leaves leaves;
#endif

[[maybe_unused]] void wait(Control& control) {
  control.inside.store(true);
  while (!control.go.load()) std::this_thread::yield();
}

[[maybe_unused]] void* wait_in_thread(void* control) {
  wait(*static_cast<Control*>(control));
  return nullptr;
}

[[maybe_unused]] int act([[maybe_unused]] Control& control) {
#if defined(MODULE_unique)
  return ++counted();
#elif defined(MODULE_static_tls) || defined(MODULE_static_tls_of_another)
  return in_static_block;
#elif defined(MODULE_thread_destructor)
  return ++leaves.value;
#elif defined(MODULE_c_thread)
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &wait_in_thread, &control) != 0) return 0;
  pthread_setname_np(thread, "lingers");
  return pthread_detach(thread) == 0;
#elif defined(MODULE_cpp_thread)
  std::thread([&control] { wait(control); }).detach();
  return 1;
#elif defined(MODULE_missing)
  return opyard_test_that_is_nowhere();
#elif defined(MODULE_signal_handler)
  static struct sigaction former;
  if (control.go) return sigaction(SIGUSR2, &former, nullptr);
  struct sigaction mine {};
  mine.sa_handler = [](int) {};
  return sigaction(SIGUSR2, &mine, &former);
#elif defined(MODULE_pthread_key)
  static pthread_key_t key;
  return control.go ? pthread_key_delete(key) : pthread_key_create(&key, [](void*) {});
#elif defined(MODULE_terminate_handler)
  static std::terminate_handler former;
  if (control.go) {
    std::set_terminate(former);
  } else {
    former = std::set_terminate([] { std::abort(); });
  }
  return 0;
#elif defined(MODULE_calls_library)
  return library_answer();
#elif defined(MODULE_openmp)
  int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
  for (int i = 0; i < 100; ++i) sum += i;
  return sum;
#else
  return ANSWER;
#endif
}

}  // namespace

#ifndef MODULE_no_entry
extern "C" __attribute__((visibility("default"))) int32_t opyard_plugin_entry(
    const opyard_host_handshake* host, opyard_plugin_handshake*) {
  return act(*reinterpret_cast<Control*>(const_cast<char*>(host->fingerprint.data)));
}
#endif
