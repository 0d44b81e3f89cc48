/* A second runtime for the device "toy", which works as far as it gets: not at all. */
#include <string.h>

#include "opyard_device.h"
#include "opyard_note.h"

static int32_t count(void* instance, uint32_t* devices, opyard_status* status) {
  (void)instance, (void)status;
  *devices = 1;
  return 0;
}
static int32_t allocate(void* instance, uint32_t device, uint64_t bytes, opyard_stream stream,
                        opyard_address* memory, opyard_status* status) {
  (void)instance, (void)device, (void)bytes, (void)stream, (void)memory, (void)status;
  return 12;
}
static int32_t release(void* instance, uint32_t device, opyard_address memory, uint64_t bytes,
                       opyard_stream stream, opyard_status* status) {
  (void)instance, (void)device, (void)memory, (void)bytes, (void)stream, (void)status;
  return 12;
}
static int32_t copy_in(void* instance, uint32_t device, opyard_address to, const void* from,
                       uint64_t bytes, opyard_stream stream, opyard_status* status) {
  (void)instance, (void)device, (void)to, (void)from, (void)bytes, (void)stream, (void)status;
  return 12;
}
static int32_t copy_out(void* instance, uint32_t device, void* to, opyard_address from,
                        uint64_t bytes, opyard_stream stream, opyard_status* status) {
  (void)instance, (void)device, (void)to, (void)from, (void)bytes, (void)stream, (void)status;
  return 12;
}
static int32_t synchronise(void* instance, uint32_t device, opyard_stream stream,
                           opyard_status* status) {
  (void)instance, (void)device, (void)stream, (void)status;
  return 0;
}

static const opyard_device_ext device = {.struct_size = sizeof(opyard_device_ext),
                                         .device_count = &count,
                                         .alloc = &allocate,
                                         .free = &release,
                                         .copy_h2d = &copy_in,
                                         .copy_d2h = &copy_out,
                                         .stream_synchronise = &synchronise};

static const void* extension(void* instance, opyard_str id, uint32_t min_version) {
  (void)instance, (void)min_version;
  return id.size == 13 && memcmp(id.data, "opyard.device", 13) == 0 ? &device : NULL;
}

static const opyard_plugin_table table = {.struct_size = sizeof(opyard_plugin_table),
                                          .get_extension = &extension};

OPYARD_C_PLUGIN(table, "twin", "1.0.0", OPYARD_KIND_DEVICE, OPYARD_UNLOADABLE, "device:toy", "");
