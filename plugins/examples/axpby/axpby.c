/* The operator axpby::axpby, a * x + b * y, in C: the same as axpby.cc for every host of the plugin
 * interface, whatever it was built with. */
#include <string.h>

#include "opyard_calls.h"
#include "opyard_note.h"
#include "opyard_schemas.h"
#include "opyard_tensors.h"

enum { INVALID_ARGUMENT = 3, FAILED_PRECONDITION = 9, UNIMPLEMENTED = 12 }; /* codes of gRPC */

/* What the host offers us; valid from init to fini. */
static const opyard_host* the_host;
static const opyard_tensors* tensors;
static const opyard_calls* calls;
static opyard_op clone; /* aten::clone */

static int32_t refuse(opyard_status* status, int32_t code, const char* reason) {
  const opyard_str text = {reason, (uint32_t)strlen(reason), 0};
  the_host->set_status(status, code, text);
  return code;
}

static double number(const opyard_value* scalar) {
  double real;
  if (scalar->tag == OPYARD_BOOL || scalar->tag == OPYARD_INT)
    return (double)(int64_t)scalar->payload;
  memcpy(&real, &scalar->payload, sizeof(real));
  return real;
}
static int is_real(const opyard_value* scalar) {
  return scalar->tag >= OPYARD_BOOL && scalar->tag <= OPYARD_DOUBLE;
}

/* What a kernel gets may be any view; this one wants its elements in a row. Leaves a tensor that
 * is to be released in *row, or nothing. */
static int32_t in_a_row(const opyard_value* x, opyard_value* row, opyard_tensor_view* view,
                        opyard_status* status) {
  const opyard_value arguments[] = {*x, {OPYARD_MEMORY_FORMAT, 0, 0 /* contiguous */}};
  int32_t code = tensors->view(x->payload, view, sizeof(*view), status);
  if (code != 0 || (view->flags & OPYARD_CONTIGUOUS)) return code;
  code = calls->call(clone, arguments, 2, row, 1, status);
  return code != 0 ? code : tensors->view(row->payload, view, sizeof(*view), status);
}

static int same_shape(const opyard_tensor_view* x, const opyard_tensor_view* y) {
  const size_t bytes = (size_t)x->ndim * sizeof(int64_t);
  return x->dtype_number == y->dtype_number && x->ndim == y->ndim &&
         (bytes == 0 || memcmp(x->shape, y->shape, bytes) == 0);
}

static void compute(const opyard_tensor_view* x, const opyard_tensor_view* y, double a, double b,
                    const opyard_tensor_view* out) {
  int64_t i;
  if (out->dtype_number == OPYARD_FLOAT32) {
    const float* px = x->data;
    const float* py = y->data;
    float* to = out->data;
    for (i = 0; i < out->numel; ++i) to[i] = (float)a * px[i] + (float)b * py[i];
  } else {
    const double* px = x->data;
    const double* py = y->data;
    double* to = out->data;
    for (i = 0; i < out->numel; ++i) to[i] = a * px[i] + b * py[i];
  }
}

/* in: x, y, a, b; out: the result. Arguments are borrowed, the result becomes the caller's. */
static int32_t axpby(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
                     opyard_value* out, uint32_t n_out) {
  opyard_value rows[2] = {{OPYARD_NONE, 0, 0}, {OPYARD_NONE, 0, 0}};
  opyard_tensor_view x, y, result;
  opyard_tensor made = 0;
  int32_t code;
  (void)self;
  if (n_in != 4 || n_out != 1 || in[0].tag != OPYARD_TENSOR || in[1].tag != OPYARD_TENSOR ||
      !is_real(&in[2]) || !is_real(&in[3])) {
    return refuse(call->status, INVALID_ARGUMENT, "axpby takes two tensors and two real numbers");
  }
  code = in_a_row(&in[0], &rows[0], &x, call->status);
  if (code == 0) code = in_a_row(&in[1], &rows[1], &y, call->status);
  if (code == 0 && !same_shape(&x, &y)) {
    code = refuse(call->status, INVALID_ARGUMENT, "axpby wants two tensors of one shape and dtype");
  }
  if (code == 0 && x.dtype_number != OPYARD_FLOAT32 && x.dtype_number != OPYARD_FLOAT64) {
    code = refuse(call->status, UNIMPLEMENTED, "axpby computes float32 and float64 only");
  }
  if (code == 0) {
    code =
        tensors->empty(x.shape, NULL, (uint32_t)x.ndim, x.dtype_number, x.on, &made, call->status);
  }
  if (code == 0) code = tensors->view(made, &result, sizeof(result), call->status);
  if (code == 0) {
    compute(&x, &y, number(&in[2]), number(&in[3]), &result);
    out[0].tag = OPYARD_TENSOR;
    out[0].payload = made;
  } else {
    tensors->release(made);
  }
  tensors->value_release(&rows[0]);
  tensors->value_release(&rows[1]);
  return code;
}

/* What we define, and our kernels. */
static const opyard_schema schemas[] = {{
    .struct_size = sizeof(opyard_schema),
    .name_space = OPYARD_LITERAL("axpby"),
    .schema = OPYARD_LITERAL("axpby(Tensor x, Tensor y, *, Scalar a=1, Scalar b=1) -> Tensor"),
    .tags = OPYARD_LITERAL("pointwise"),
    .preconditions = OPYARD_LITERAL("x and y have one shape and one dtype, float32 or float64"),
    .doc = OPYARD_LITERAL("a * x + b * y, element by element."),
    .file = OPYARD_LITERAL(__FILE__),
    .line = __LINE__,
}};
static const opyard_schemas_ext schemas_ext = {sizeof(schemas_ext), 0, schemas, 1};

static const opyard_registration kernels[] = {{
    .struct_size = sizeof(opyard_registration),
    .kind = OPYARD_REGISTER_IMPL,
    .file = OPYARD_LITERAL(__FILE__),
    .line = __LINE__,
    .text = OPYARD_LITERAL("axpby"),
    .boxed = &axpby,
}};
static const opyard_block block = {
    .struct_size = sizeof(opyard_block),
    .kind = OPYARD_BLOCK_IMPL,
    .file = OPYARD_LITERAL(__FILE__),
    .line = __LINE__,
    .name_space = OPYARD_LITERAL("axpby"),
    .key = OPYARD_LITERAL("CPU"),
    .registrations = kernels,
    .count = 1,
};

static int32_t give_blocks(void* instance, const opyard_block** blocks, uint64_t* count,
                           opyard_status* status) {
  (void)instance;
  (void)status;
  *blocks = &block;
  *count = 1;
  return 0;
}
static const opyard_kernels_ext kernels_ext = {sizeof(kernels_ext), 0, &give_blocks};

static const void* host_extension(const opyard_host* host, const char* name) {
  const opyard_str id = {name, (uint32_t)strlen(name), 0};
  return host->get_extension(host, id, 1);
}

static int32_t init(const opyard_host* host, void** instance, opyard_status* status) {
  const opyard_str name = OPYARD_LITERAL("aten::clone");
  (void)instance;
  the_host = host;
  tensors = host_extension(host, "opyard.tensors");
  calls = host_extension(host, "opyard.calls");
  if (!tensors || !calls) return refuse(status, FAILED_PRECONDITION, "this host is too old");
  return calls->find(name, &clone, status);
}

static const void* get_extension(void* instance, opyard_str id, uint32_t min_version) {
  (void)instance;
  if (min_version > 1) return NULL;
  if (id.size == 14 && memcmp(id.data, "opyard.schemas", 14) == 0) return &schemas_ext;
  if (id.size == 14 && memcmp(id.data, "opyard.kernels", 14) == 0) return &kernels_ext;
  return NULL;
}

static const opyard_plugin_table table = {
    .struct_size = sizeof(opyard_plugin_table),
    .init = &init,
    .get_extension = &get_extension,
};

OPYARD_C_PLUGIN(table, "axpby", "1.0.1", OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS,
                OPYARD_UNLOADABLE, "CPU", "opyard.tensors/1,opyard.calls/1");
