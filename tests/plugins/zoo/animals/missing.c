/* Calls a function that nobody has. */
#include "skeleton.h"

int32_t opyard_zoo_that_is_nowhere(void);

__attribute__((visibility("hidden"))) int32_t on_init(opyard_status* status) {
  (void)status;
  return opyard_zoo_that_is_nowhere();
}
