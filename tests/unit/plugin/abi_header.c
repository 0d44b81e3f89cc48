/* The header alone, in C11. */
#include "opyard_plugin.h"

unsigned opyard_abi_version_in_c(void);
unsigned opyard_abi_version_in_c(void) { return OPYARD_ABI_VERSION; }
