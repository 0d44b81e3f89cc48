/* Says twice who it is. */
#include "opyard_note.h"

OPYARD_NOTE("zoo", "1.0.1", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU", "", "");
