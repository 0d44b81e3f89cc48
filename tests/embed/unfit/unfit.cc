// No plugin: it has the entry and no note. The lint that runs when it is linked says so.
#include "opyard_plugin.h"

extern "C" __attribute__((visibility("default"))) int32_t opyard_plugin_entry(
    const opyard_host_handshake*, opyard_plugin_handshake*) {
  return 9;
}
