/* The plugin whose traffic goes on, whatever happens beside it. */
#include "opyard_note.h"

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

OPYARD_C_PLUGIN(table, "neighbour", "1.0.0", OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS,
                OPYARD_UNLOADABLE, "CPU", "");
