/* The headers alone, in C11: this file makes a whole plugin. */
#include "opyard_note.h"

unsigned opyard_abi_version_in_c(void);
unsigned opyard_abi_version_in_c(void) { return OPYARD_ABI_VERSION; }

static const opyard_plugin_table table = {sizeof(opyard_plugin_table), 0, 0, 0, 0, 0, 0, 0};

OPYARD_C_PLUGIN(table, "in_c", "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU", "");
