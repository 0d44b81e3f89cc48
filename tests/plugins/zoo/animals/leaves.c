/* Animals that leave something behind: LEAVES_… */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "skeleton.h"

#pragma GCC visibility push(hidden)

#if defined(LEAVES_descriptor)
int32_t on_init(opyard_status* status) {
  (void)status;
  return open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 8;
}
#elif defined(LEAVES_memory)
int32_t on_init(opyard_status* status) {
  enum { kBytes = 1 << 16 };
  void* volatile block = the_host->alloc(kBytes);
  if (!block) return refuse(status, 8, "there is no memory");
  memset(block, 1, kBytes);
  return 0;
}
#elif defined(LEAVES_key)
int32_t on_init(opyard_status* status) {
  pthread_key_t key;
  (void)status;
  return pthread_key_create(&key, NULL);
}
#elif defined(LEAVES_failed_init)
/* Fails, but not without a trace. */
int32_t on_init(opyard_status* status) {
  if (open("/dev/zero", O_RDONLY | O_CLOEXEC) < 0) return 8;
  return refuse(status, 14, "the device is asleep");
}
#endif
