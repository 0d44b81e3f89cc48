/* A kernel pack of the C interface, whose results say which build of it they come from. What its
 * operator make() gives out lies in the plugin's own memory, and so keeps the generation. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opyard_calls.h"
#include "opyard_note.h"
#include "opyard_tensors.h"
#include "stamp.h"

enum { INVALID_ARGUMENT = 3, NOT_FOUND = 5, ABORTED = 10, UNAVAILABLE = 14 }; /* codes of gRPC */

__attribute__((used)) static volatile struct torture_stamp stamp = {TORTURE_MARK, 0, TORTURE_SOUND,
                                                                    0};

static const opyard_host* the_host;
static const opyard_tensors* tensors;
static const opyard_calls* calls;
static pthread_t own_thread;
static int has_thread;
static int stop; /* read and written by the atomic built-ins */

static void rest(uint64_t us) {
  const struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
  nanosleep(&time, NULL);
}

static void* idle(void* unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) rest(1000);
  return unused;
}

static int32_t refuse(opyard_status* status, int32_t code, const char* reason) {
  const opyard_str text = {reason, (uint32_t)strlen(reason), 0};
  the_host->set_status(status, code, text);
  return code;
}

static void give_number(opyard_value* out) {
  out->tag = OPYARD_INT;
  out->payload = stamp.number;
}

static int32_t which(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                     opyard_value* out, uint32_t n_out) {
  (void)self, (void)call, (void)in, (void)n_in, (void)n_out;
  give_number(&out[0]);
  return 0;
}

static int32_t slow(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                    opyard_value* out, uint32_t n_out) {
  (void)self, (void)call, (void)n_in, (void)n_out;
  rest(in[1].payload);
  give_number(&out[0]);
  return 0;
}

static int32_t fails(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                     opyard_value* out, uint32_t n_out) {
  char text[64];
  (void)self, (void)in, (void)n_in, (void)out, (void)n_out;
  snprintf(text, sizeof(text), "told to fail by build %llu", (unsigned long long)stamp.number);
  return refuse(call->status, ABORTED, text);
}

/* Runs when the last tensor on the memory has gone, perhaps long after the plugin was replaced. */
static void forget(void* memory) { free(memory); }

static int32_t make(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                    opyard_value* out, uint32_t n_out) {
  const int64_t size = 16;
  int64_t* elements = malloc(16 * sizeof(int64_t));
  const opyard_memory memory = {sizeof(memory),         0,       elements, 16 * sizeof(int64_t),
                                {OPYARD_DEVICE_CPU, 0}, &forget, elements};
  opyard_storage storage = 0;
  opyard_tensor made = 0;
  int32_t code;
  int i;
  (void)self, (void)in, (void)n_in, (void)n_out;
  if (!elements) return refuse(call->status, UNAVAILABLE, "no memory");
  for (i = 0; i < 16; ++i) elements[i] = (int64_t)stamp.number;
  code = tensors->storage_create(the_host, &memory, &storage, call->status);
  if (code != 0) {
    free(elements);
    return code;
  }
  code = tensors->on_storage(storage, OPYARD_INT64, &size, NULL, 1, 0, &made, call->status);
  tensors->storage_release(storage);
  if (code == 0) {
    out[0].tag = OPYARD_TENSOR;
    out[0].payload = made;
  }
  return code;
}

/* What an operator says, by its name; -1 when there is none. */
static int32_t ask(const char* name, const opyard_value* x, int64_t* said, opyard_status* status) {
  const opyard_str text = {name, (uint32_t)strlen(name), 0};
  opyard_value result = {OPYARD_NONE, 0, 0};
  opyard_op op;
  int32_t code = calls->find(text, &op, NULL);
  *said = -1;
  if (code != 0) return 0;
  code = calls->call(op, x, 1, &result, 1, status);
  if (code == 0) *said = (int64_t)result.payload;
  return code;
}

static int32_t nested(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                      opyard_value* out, uint32_t n_out) {
  int64_t seen[5] = {(int64_t)stamp.number};
  int i;
  (void)self, (void)n_in, (void)n_out;
  for (i = 0; i < 2; ++i) {
    int32_t code;
    if (i) rest(in[1].payload);
    code = ask(TORTURE_NAME "::which", &in[0], &seen[1 + 2 * i], call->status);
    if (code == 0) code = ask(TORTURE_NEIGHBOUR "::which", &in[0], &seen[2 + 2 * i], call->status);
    if (code != 0) return code;
  }
  return tensors->make_ints(seen, 5, &out[0], call->status);
}

static const struct {
  opyard_str schema;
  opyard_str name;
  opyard_boxed_fn function;
} operators[] = {
    {OPYARD_LITERAL("which(Tensor x) -> int"), OPYARD_LITERAL("which"), &which},
    {OPYARD_LITERAL("slow(Tensor x, int us) -> int"), OPYARD_LITERAL("slow"), &slow},
    {OPYARD_LITERAL("fails(Tensor x) -> int"), OPYARD_LITERAL("fails"), &fails},
    {OPYARD_LITERAL("make(Tensor x) -> Tensor"), OPYARD_LITERAL("make"), &make},
    {OPYARD_LITERAL("nested(Tensor x, int us) -> int[]"), OPYARD_LITERAL("nested"), &nested},
};
enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };

static int32_t give_blocks(void* instance, const opyard_block** blocks, uint64_t* count,
                           opyard_status* status) {
  static opyard_registration records[2 * OPERATORS];
  static opyard_block block;
  const opyard_str file = OPYARD_LITERAL(__FILE__);
  const opyard_str space = OPYARD_LITERAL(TORTURE_NAME);
  const opyard_str key = OPYARD_LITERAL("CPU");
  int i;
  (void)instance, (void)status;
  for (i = 0; i < OPERATORS; ++i) {
    opyard_registration* record = &records[2 * i];
    record[0].struct_size = record[1].struct_size = sizeof(*record);
    record[0].file = record[1].file = file;
    record[0].kind = OPYARD_REGISTER_DEF;
    record[0].text = operators[i].schema;
    record[1].kind = OPYARD_REGISTER_IMPL;
    record[1].text = operators[i].name;
    record[1].key = key;
    record[1].boxed = operators[i].function;
  }
  block.struct_size = sizeof(block);
  block.kind = OPYARD_BLOCK_DEF;
  block.file = file;
  block.name_space = space;
  block.registrations = records;
  block.count = 2 * OPERATORS;
  *blocks = &block;
  *count = 1;
  return 0;
}

static const void* host_extension(const opyard_host* host, const char* name) {
  const opyard_str id = {name, (uint32_t)strlen(name), 0};
  return host->get_extension(host, id, 1);
}

static int32_t init(const opyard_host* host, void** instance, opyard_status* status) {
  (void)instance;
  the_host = host;
  tensors = host_extension(host, "opyard.tensors");
  calls = host_extension(host, "opyard.calls");
  if (stamp.fault == TORTURE_INIT_FAILS) {
    return refuse(status, UNAVAILABLE, "its init was told to fail");
  }
  if (stamp.fault == TORTURE_SLOW_INIT) rest(stamp.slow_ms * 1000u);
  has_thread = stamp.fault == TORTURE_THREAD && pthread_create(&own_thread, NULL, &idle, NULL) == 0;
  return 0;
}

static int32_t activate(void* instance, opyard_status* status) {
  (void)instance;
  if (stamp.fault != TORTURE_LATE_FAILURE) return 0;
  return refuse(status, UNAVAILABLE, "its activate was told to fail");
}

static int32_t quiesce(void* instance, uint64_t deadline_ns, opyard_status* status) {
  (void)instance, (void)deadline_ns, (void)status;
  if (stamp.fault == TORTURE_SLOW_END) rest(stamp.slow_ms * 1000u);
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  if (has_thread) pthread_join(own_thread, NULL);
  return 0;
}

static const void* get_extension(void* instance, opyard_str id, uint32_t min_version) {
  static const opyard_kernels_ext kernels = {sizeof(kernels), 0, &give_blocks};
  (void)instance;
  if (min_version > 1 || id.size != 14 || memcmp(id.data, "opyard.kernels", 14) != 0) return NULL;
  return &kernels;
}

static const opyard_plugin_table table = {
    .struct_size = sizeof(opyard_plugin_table),
    .init = &init,
    .activate = &activate,
    .quiesce = &quiesce,
    .get_extension = &get_extension,
};

OPYARD_C_PLUGIN(table, TORTURE_NAME, "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU",
                "opyard.tensors/1,opyard.calls/1");
