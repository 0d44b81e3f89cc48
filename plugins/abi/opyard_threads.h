/* Host extension "opyard.threads", version 1: work on the host's threads, so that a plugin needs
 * none of its own. C11. Get the table with host->get_extension(host, "opyard.threads", 1); it is
 * valid until fini returns. All functions are [any]. */
#ifndef OPYARD_THREADS_H
#define OPYARD_THREADS_H

#include "opyard_layout.h"
#include "opyard_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opyard_threads {
  uint32_t struct_size;
  uint32_t flags;

  /* Runs function(argument) once on a thread of the host, soon, beside other work; it may block and
   * may call operators (with the state of a fresh thread). A lease keeps the plugin until it has
   * returned: from within a kernel, an init or under another lease only. Returns a canonical code;
   * INVALID_ARGUMENT without a function, FAILED_PRECONDITION once the plugin is to stop,
   * RESOURCE_EXHAUSTED when too much runs already. `argument` stays the caller's when it fails. */
  int32_t (*submit)(const opyard_host* host, void (*function)(void* argument), void* argument,
                    opyard_status* status);
  /* 1 once no call enters this plugin any more and it should come to its end; work that goes on for
   * long asks now and then. */
  uint8_t (*stop_requested)(const opyard_host* host);
} opyard_threads;

#ifdef __cplusplus
}
#endif

OPYARD_SIZE_IS(opyard_threads, 24);
OPYARD_PLACE_IS(opyard_threads, submit, 8);
OPYARD_PLACE_IS(opyard_threads, stop_requested, 16);

#endif
