/* Animals that hang, crash or leave the process: ACT, a function below, at WHERE. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "skeleton.h"

#define UNUSED __attribute__((unused))

UNUSED static void spin(void) {
  for (;;) __asm__ volatile("" ::: "memory");
}
UNUSED static void sleeping(void) {
  for (;;) pause();
}
UNUSED static void segv(void) {
  static int* volatile nowhere;
  *nowhere = 1;
}
UNUSED static void overflow_stack(void) {
  volatile char room[65536];
  room[0] = 1;
  overflow_stack();
  room[1] = room[0]; /* so that it is no loop */
}
UNUSED static void leave(void) { exit(3); }
UNUSED static void leave_at_once(void) { _exit(0); }
UNUSED static void kill_itself(void) { kill(getpid(), SIGTERM); }

#pragma GCC visibility push(hidden)

#if defined(WHERE_constructor)
__attribute__((constructor)) static void constructor(void) { ACT(); }
#elif defined(WHERE_destructor)
__attribute__((destructor)) static void destructor(void) { ACT(); }
#elif defined(WHERE_init)
int32_t on_init(opyard_status* status) {
  (void)status;
  ACT();
  return 0;
}
#elif defined(WHERE_activate)
int32_t on_activate(opyard_status* status) {
  (void)status;
  ACT();
  return 0;
}
#elif defined(WHERE_quiesce)
int32_t on_quiesce(void) {
  ACT();
  return 0;
}
#elif defined(WHERE_drain)
int32_t on_drain(void) {
  ACT();
  return 0;
}
#elif defined(WHERE_fini)
void on_fini(void) { ACT(); }
#elif defined(WHERE_g)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call;
  ACT();
  out[0] = in[0];
  return 0;
}
#endif
