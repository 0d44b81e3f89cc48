/* A plugin whose only kernel is for an operator that nobody defines: its name is misspelt. */
#include "opyard_note.h"

static int32_t relv(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                    opyard_value* out, uint32_t n_out) {
  (void)self, (void)call, (void)in, (void)n_in, (void)out, (void)n_out;
  return 12;
}

static const opyard_registration records[] = {
    {.struct_size = sizeof(opyard_registration),
     .kind = OPYARD_REGISTER_IMPL,
     .file = OPYARD_LITERAL(__FILE__),
     .text = OPYARD_LITERAL("relv"),
     .boxed = &relv},
};
static const opyard_block block = {.struct_size = sizeof(opyard_block),
                                   .kind = OPYARD_BLOCK_IMPL,
                                   .file = OPYARD_LITERAL(__FILE__),
                                   .name_space = OPYARD_LITERAL("aten"),
                                   .key = OPYARD_LITERAL("CPU"),
                                   .registrations = records,
                                   .count = 1};

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

OPYARD_C_PLUGIN(table, "zoo", "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU", "");
