/* The plugin whose traffic goes on, whatever happens beside it. */
#include "one_block.h"

static int32_t seven(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                     opyard_value* out, uint32_t n_out) {
  (void)self, (void)call, (void)n_out;
  if (n_in != 1 || in[0].tag != OPYARD_TENSOR) return 3;
  out[0].tag = OPYARD_INT;
  out[0].payload = 7;
  return 0;
}

static const opyard_registration records[] = {
    {.struct_size = sizeof(opyard_registration),
     .kind = OPYARD_REGISTER_DEF,
     .file = OPYARD_LITERAL(__FILE__),
     .text = OPYARD_LITERAL("seven(Tensor x) -> int")},
    {.struct_size = sizeof(opyard_registration),
     .kind = OPYARD_REGISTER_IMPL,
     .file = OPYARD_LITERAL(__FILE__),
     .text = OPYARD_LITERAL("seven"),
     .boxed = &seven},
};
static const opyard_block block = {.struct_size = sizeof(opyard_block),
                                   .kind = OPYARD_BLOCK_DEF,
                                   .file = OPYARD_LITERAL(__FILE__),
                                   .name_space = OPYARD_LITERAL("neighbour"),
                                   .registrations = records,
                                   .count = 2};

OPYARD_C_PLUGIN(table, "neighbour", "1.0.0", OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS,
                OPYARD_UNLOADABLE, "CPU", "");
