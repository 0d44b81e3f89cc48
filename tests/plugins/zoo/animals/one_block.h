/* The rest of a plugin that has one block of registrations: give OPYARD_C_PLUGIN its `table`. */
#ifndef ZOO_ONE_BLOCK_H
#define ZOO_ONE_BLOCK_H

#include "opyard_note.h"

static const opyard_block block; /* the plugin's */

static int32_t give_blocks(void* instance, const opyard_block** blocks, uint64_t* count,
                           opyard_status* status) {
  (void)instance, (void)status;
  *blocks = &block;
  *count = 1;
  return 0;
}

static const void* get_extension(void* instance, opyard_str id, uint32_t min_version) {
  static const opyard_kernels_ext kernels = {sizeof(kernels), 0, &give_blocks};
  (void)instance;
  if (min_version > 1 || id.size != 14 || memcmp(id.data, "opyard.kernels", 14) != 0) return NULL;
  return &kernels;
}

static const opyard_plugin_table table = {.struct_size = sizeof(table),
                                          .get_extension = &get_extension};

#endif
