/* A plugin whose init waits until there is a file at GATE. It brings nothing. */
#include <poll.h>
#include <unistd.h>

#include "opyard_note.h"

static int32_t init(const opyard_host* host, void** instance, opyard_status* status) {
  (void)host, (void)instance, (void)status;
  while (access(GATE, F_OK) != 0) poll(0, 0, 5);
  return 0;
}

static const opyard_plugin_table table = {sizeof(opyard_plugin_table), 0, init, 0, 0, 0, 0, 0};

OPYARD_C_PLUGIN(table, "hanging", "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "", "");
