/* A plugin whose only kernel is for an operator that nobody defines: its name is misspelt. */
#include "one_block.h"

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

OPYARD_C_PLUGIN(table, "zoo", "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU", "");
