/* The plugin "zoo", to which an animal adds what is wrong with it. ZOO_WHICH tells builds apart. */
#include "skeleton.h"

#ifndef ZOO_WHICH
#define ZOO_WHICH 1
#endif
#define DEFAULT __attribute__((weak))

#pragma GCC visibility push(hidden)

const opyard_host* the_host;
const opyard_tensors* tensors;

opyard_str words(const char* text) {
  const opyard_str made = {text, (uint32_t)strlen(text), 0};
  return made;
}

int32_t refuse(opyard_status* status, int32_t code, const char* reason) {
  the_host->set_status(status, code, words(reason));
  return code;
}

DEFAULT int32_t on_start(const opyard_host* host, opyard_status* status) {
  (void)host, (void)status;
  return 0;
}
DEFAULT int32_t on_init(opyard_status* status) {
  (void)status;
  return 0;
}
DEFAULT int32_t on_activate(opyard_status* status) {
  (void)status;
  return 0;
}
DEFAULT int32_t on_quiesce(void) { return 0; }
DEFAULT int32_t on_drain(void) { return 0; }
DEFAULT void on_fini(void) {}

DEFAULT int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call;
  out[0] = in[0];
  return 0;
}
DEFAULT int32_t on_f(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call;
  tensors->value_retain(&in[0]);
  out[0] = in[0];
  return 0;
}
DEFAULT const char* schema_of_g(void) { return "g(int n) -> int"; }
DEFAULT const char* more_space(void) { return NULL; }
DEFAULT const char* more_schema(void) { return NULL; }
DEFAULT const char* more_op(void) { return NULL; }
DEFAULT int32_t on_more(opyard_call* call, const opyard_value* in, uint32_t n_in, opyard_value* out,
                        uint32_t n_out) {
  (void)call, (void)in, (void)n_in, (void)out, (void)n_out;
  return 12;
}

#pragma GCC visibility pop

static int32_t which(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                     opyard_value* out, uint32_t n_out) {
  (void)self, (void)n_out;
  if (n_in != 1 || in[0].tag != OPYARD_TENSOR) {
    return refuse(call->status, 3, "which takes a tensor");
  }
  out[0].tag = OPYARD_INT;
  out[0].payload = ZOO_WHICH;
  return 0;
}
static int32_t f(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                 opyard_value* out, uint32_t n_out) {
  (void)self, (void)n_out;
  if (n_in != 1 || in[0].tag != OPYARD_TENSOR) return refuse(call->status, 3, "f takes a tensor");
  return on_f(call, in, out);
}
static int32_t g(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                 opyard_value* out, uint32_t n_out) {
  (void)self, (void)n_out;
  if (n_in != 1 || in[0].tag != OPYARD_INT) return refuse(call->status, 3, "g takes an int");
  return on_g(call, in, out);
}
static int32_t more(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                    opyard_value* out, uint32_t n_out) {
  (void)self;
  return on_more(call, in, n_in, out, n_out);
}

enum { kRecords = 6, kBlocks = 3 };
static opyard_registration records[kRecords + 2];
static opyard_block blocks[kBlocks];

static void record(int at, uint32_t kind, const char* text, opyard_boxed_fn function) {
  records[at].struct_size = sizeof(opyard_registration);
  records[at].kind = kind;
  records[at].file = words(__FILE__);
  records[at].text = words(text);
  records[at].boxed = function;
}
static void block(int at, uint32_t kind, const char* space, int first, uint64_t count) {
  blocks[at].struct_size = sizeof(opyard_block);
  blocks[at].kind = kind;
  blocks[at].file = words(__FILE__);
  blocks[at].name_space = words(space);
  blocks[at].registrations = &records[first];
  blocks[at].count = count;
}

static int32_t give_blocks(void* instance, const opyard_block** out, uint64_t* count,
                           opyard_status* status) {
  (void)instance, (void)status;
  record(0, OPYARD_REGISTER_DEF, "which(Tensor x) -> int", NULL);
  record(1, OPYARD_REGISTER_IMPL, "which", &which);
  record(2, OPYARD_REGISTER_DEF, "f(Tensor x) -> Tensor", NULL);
  record(3, OPYARD_REGISTER_IMPL, "f", &f);
  record(4, OPYARD_REGISTER_DEF, schema_of_g(), NULL);
  record(5, OPYARD_REGISTER_IMPL, "g", &g);
  block(0, OPYARD_BLOCK_DEF, "zoo", 0, kRecords);
  *count = 1;
  if (more_schema()) {
    record(kRecords, OPYARD_REGISTER_DEF, more_schema(), NULL);
    block((int)*count, OPYARD_BLOCK_FRAGMENT, more_space(), kRecords, 1);
    ++*count;
  }
  if (more_op()) {
    record(kRecords + 1, OPYARD_REGISTER_IMPL, more_op(), &more);
    block((int)*count, OPYARD_BLOCK_IMPL, "aten", kRecords + 1, 1);
    blocks[*count].key = words("CPU");
    ++*count;
  }
  *out = blocks;
  return 0;
}

static int32_t init(const opyard_host* host, void** instance, opyard_status* status) {
  const int32_t code = on_start(host, status);
  (void)instance;
  if (code != 0) return code;
  the_host = host;
  tensors = host->get_extension(host, words("opyard.tensors"), 1);
  if (!tensors) return refuse(status, 9, "this host has no tensors");
  return on_init(status);
}
static int32_t activate(void* instance, opyard_status* status) {
  (void)instance;
  return on_activate(status);
}
static int32_t quiesce(void* instance, uint64_t deadline_ns, opyard_status* status) {
  (void)instance, (void)deadline_ns, (void)status;
  return on_quiesce();
}
static int32_t drain(void* instance, uint64_t deadline_ns, opyard_status* status) {
  (void)instance, (void)deadline_ns, (void)status;
  return on_drain();
}
static void fini(void* instance) {
  (void)instance;
  on_fini();
}

static const void* get_extension(void* instance, opyard_str id, uint32_t min_version) {
  static const opyard_kernels_ext kernels = {sizeof(kernels), 0, &give_blocks};
  (void)instance;
  if (min_version > 1 || id.size != 14 || memcmp(id.data, "opyard.kernels", 14) != 0) return NULL;
  return &kernels;
}

static const opyard_plugin_table table = {sizeof(table), 0,      &init, &activate,
                                          &quiesce,      &drain, &fini, &get_extension};

OPYARD_C_PLUGIN(table, "zoo", "1.0.0", OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS, OPYARD_UNLOADABLE,
                "CPU", "opyard.tensors/1");
