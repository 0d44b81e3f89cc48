/* Matrix products by OpenBLAS: a kernel pack in C. */
#include <cblas.h>
#include <string.h>

#include "opyard_note.h"
#include "opyard_tensors.h"

enum { INVALID_ARGUMENT = 3, FAILED_PRECONDITION = 9 }; /* codes of gRPC */

static const opyard_host* the_host;
static const opyard_tensors* tensors;

static int32_t refuse(opyard_status* status, int32_t code, const char* reason) {
  const opyard_str text = {reason, (uint32_t)strlen(reason), 0};
  the_host->set_status(status, code, text);
  return code;
}

static int is_matrix(const opyard_tensor_view* view) {
  return view->ndim == 2 && (view->flags & OPYARD_CONTIGUOUS) &&
         (view->dtype_number == OPYARD_FLOAT32 || view->dtype_number == OPYARD_FLOAT64) &&
         view->shape[0] <= INT32_MAX && view->shape[1] <= INT32_MAX;
}

static void multiply(const opyard_tensor_view* a, const opyard_tensor_view* b,
                     const opyard_tensor_view* c) {
  const blasint m = (blasint)a->shape[0];
  const blasint k = (blasint)a->shape[1];
  const blasint n = (blasint)b->shape[1];
  if (m == 0 || n == 0) return;
  if (a->dtype_number == OPYARD_FLOAT64) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a->data, k ? k : 1, b->data,
                n, 0, c->data, n);
  } else {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a->data, k ? k : 1, b->data,
                n, 0, c->data, n);
  }
}

static int32_t matmul(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                      opyard_value* out, uint32_t n_out) {
  opyard_tensor_view a, b, c;
  opyard_tensor made = 0;
  int64_t sizes[2];
  int32_t code;
  (void)self, (void)n_in, (void)n_out;
  code = tensors->view(in[0].payload, &a, sizeof(a), call->status);
  if (code == 0) code = tensors->view(in[1].payload, &b, sizeof(b), call->status);
  if (code != 0) return code;
  if (!is_matrix(&a) || !is_matrix(&b) || a.dtype_number != b.dtype_number ||
      a.shape[1] != b.shape[0]) {
    return refuse(call->status, INVALID_ARGUMENT,
                  "matmul wants two row-major matrices that fit, float32 or float64");
  }
  sizes[0] = a.shape[0];
  sizes[1] = b.shape[1];
  code = tensors->empty(sizes, NULL, 2, a.dtype_number, a.on, &made, call->status);
  if (code == 0) code = tensors->view(made, &c, sizeof(c), call->status);
  if (code != 0) {
    tensors->release(made);
    return code;
  }
  multiply(&a, &b, &c);
  out[0].tag = OPYARD_TENSOR;
  out[0].payload = made;
  return 0;
}

/* Which library computes. */
static int32_t by(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                  opyard_value* out, uint32_t n_out) {
  const char* config = openblas_get_config();
  const opyard_str text = {config, (uint32_t)strlen(config), 0};
  (void)self, (void)in, (void)n_in, (void)n_out;
  return tensors->make_str(text, &out[0], call->status);
}

#define RECORD(what, words, kernel)                                                   \
  {                                                                                   \
    .struct_size = sizeof(opyard_registration), .kind = what, .line = __LINE__,       \
    .file = OPYARD_LITERAL(__FILE__), .text = OPYARD_LITERAL(words), .boxed = kernel, \
    .key = OPYARD_LITERAL("CPU")                                                      \
  }
static const opyard_registration records[] = {
    RECORD(OPYARD_REGISTER_DEF, "matmul(Tensor a, Tensor b) -> Tensor", NULL),
    RECORD(OPYARD_REGISTER_DEF, "by(Tensor x) -> str", NULL),
    RECORD(OPYARD_REGISTER_IMPL, "matmul", &matmul),
    RECORD(OPYARD_REGISTER_IMPL, "by", &by),
};
static const opyard_block block = {.struct_size = sizeof(opyard_block),
                                   .kind = OPYARD_BLOCK_DEF,
                                   .file = OPYARD_LITERAL(__FILE__),
                                   .name_space = OPYARD_LITERAL("outsider"),
                                   .registrations = records,
                                   .count = sizeof(records) / sizeof(records[0])};

static int32_t give_blocks(void* instance, const opyard_block** blocks, uint64_t* count,
                           opyard_status* status) {
  (void)instance, (void)status;
  *blocks = &block;
  *count = 1;
  return 0;
}

static int32_t init(const opyard_host* host, void** instance, opyard_status* status) {
  const opyard_str name = OPYARD_LITERAL("opyard.tensors");
  (void)instance;
  the_host = host;
  tensors = host->get_extension(host, name, 1);
  return tensors ? 0 : refuse(status, FAILED_PRECONDITION, "this host is too old");
}

static const void* get_extension(void* instance, opyard_str id, uint32_t min_version) {
  static const opyard_kernels_ext kernels = {sizeof(kernels), 0, &give_blocks};
  (void)instance;
  if (min_version > 1 || id.size != 14 || memcmp(id.data, "opyard.kernels", 14) != 0) return NULL;
  return &kernels;
}

static const opyard_plugin_table table = {
    .struct_size = sizeof(opyard_plugin_table), .init = &init, .get_extension = &get_extension};

OPYARD_C_PLUGIN(table, "outsider_matmul", "0.3", OPYARD_KIND_KERNELS,
                OPYARD_UNLOADABLE_BUT_DEPENDENCIES, "CPU", "opyard.tensors/1");
