/* Every record that it hands over lies at the end of a page behind which nobody may read, and says
 * that it is larger than it is. A host that reads as much as it knows itself comes to no harm. */
#include <sys/mman.h>
#include <unistd.h>

#include "opyard_note.h"
#include "opyard_schemas.h"

enum { kLie = 64, kMost = 8 };

static char* places[kMost];
static int used;

/* Room for `size` bytes that ends where a forbidden page begins. */
static void* at_the_edge(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) return NULL;
  if (used < kMost) places[used++] = pages;
  return pages + page - size;
}

static int32_t which(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                     opyard_value* out, uint32_t n_out) {
  (void)self, (void)call, (void)in, (void)n_in, (void)n_out;
  out[0].tag = OPYARD_INT;
  out[0].payload = 1;
  return 0;
}

static int32_t give_blocks(void* instance, const opyard_block** out, uint64_t* count,
                           opyard_status* status) {
  const opyard_str space = OPYARD_LITERAL("zoo");
  const opyard_str name = OPYARD_LITERAL("which");
  opyard_registration* record = at_the_edge(sizeof(*record));
  opyard_block* block = at_the_edge(sizeof(*block));
  (void)instance, (void)status;
  if (!record || !block) return 8;
  record->struct_size = sizeof(*record) + kLie;
  record->kind = OPYARD_REGISTER_IMPL;
  record->text = name;
  record->boxed = &which;
  block->struct_size = sizeof(*block) + kLie;
  block->kind = OPYARD_BLOCK_IMPL;
  block->name_space = space;
  block->registrations = record;
  block->count = 1;
  *out = block;
  *count = 1;
  return 0;
}

static const void* give_schemas(void) {
  const opyard_str space = OPYARD_LITERAL("zoo");
  const opyard_str text = OPYARD_LITERAL("which(Tensor x) -> int");
  opyard_schema* schema = at_the_edge(sizeof(*schema));
  opyard_schemas_ext* schemas = at_the_edge(sizeof(*schemas));
  if (!schema || !schemas) return NULL;
  schema->struct_size = sizeof(*schema) + kLie;
  schema->name_space = space;
  schema->schema = text;
  schemas->struct_size = sizeof(*schemas) + kLie;
  schemas->schemas = schema;
  schemas->count = 1;
  return schemas;
}

static const void* get_extension(void* instance, opyard_str id, uint32_t min_version) {
  opyard_kernels_ext* kernels;
  (void)instance;
  if (min_version > 1 || id.size != 14) return NULL;
  if (memcmp(id.data, "opyard.schemas", 14) == 0) return give_schemas();
  if (memcmp(id.data, "opyard.kernels", 14) != 0) return NULL;
  kernels = at_the_edge(sizeof(*kernels));
  if (!kernels) return NULL;
  kernels->struct_size = sizeof(*kernels) + kLie;
  kernels->blocks = &give_blocks;
  return kernels;
}

static void fini(void* instance) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  (void)instance;
  while (used > 0) munmap(places[--used], 2 * page);
}

OPYARD_NOTE("zoo", "1.0.0", OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS, OPYARD_UNLOADABLE, "CPU", "",
            "");

__attribute__((visibility("default"))) int32_t opyard_plugin_entry(
    const opyard_host_handshake* host, opyard_plugin_handshake* plugin) {
  const opyard_str name = OPYARD_LITERAL("zoo");
  const opyard_str version = OPYARD_LITERAL("1.0.0");
  opyard_plugin_table* table = at_the_edge(sizeof(*table));
  if (!table) return 8;
  table->struct_size = sizeof(*table) + kLie;
  table->fini = &fini;
  table->get_extension = &get_extension;
  return opyard_shake_hands(host, plugin, table, name, version);
}
