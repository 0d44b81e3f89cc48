/* Animals whose kernels do what they must not: KERNEL_… */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "skeleton.h"

#pragma GCC visibility push(hidden)

#if defined(KERNEL_no_result)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call, (void)in, (void)out;
  return 0;
}
#elif defined(KERNEL_other_type)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call, (void)in;
  out[0].tag = OPYARD_DOUBLE;
  return 0;
}
#elif defined(KERNEL_garbage_tag)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call, (void)in;
  out[0].tag = 0xdeadbeef;
  out[0].payload = 0x1234;
  return 0;
}
#elif defined(KERNEL_garbage_code)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call, (void)in, (void)out;
  return 0x5eed;
}
#elif defined(KERNEL_garbage_status)
/* A code that the status contradicts, and a text that is no text. */
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  const opyard_str odd = {NULL, 77, 0};
  (void)in, (void)out;
  the_host->set_status(call->status, 0, odd);
  the_host->set_status(call->status, -3, words("\xff\xfe"));
  return 5;
}
#elif defined(KERNEL_result_and_code)
/* Leaves a result and fails: nobody may be left with it. */
int32_t on_f(opyard_call* call, const opyard_value* in, opyard_value* out) {
  tensors->value_retain(&in[0]);
  out[0] = in[0];
  return refuse(call->status, 11, "there is a result, but it is wrong");
}
#elif defined(KERNEL_undefined_own)
/* No shape function knows better than the schema. */
int32_t on_f(opyard_call* call, const opyard_value* in, opyard_value* out) {
  (void)call, (void)in;
  out[0].tag = OPYARD_TENSOR;
  return 0;
}
#elif defined(KERNEL_deadlock)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  (void)call, (void)in, (void)out;
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  return 0;
}
#elif defined(KERNEL_frees_twice)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  void* block = the_host->alloc(64);
  (void)call;
  out[0] = in[0];
  the_host->free(block);
  the_host->free(block);
  return 0;
}
#elif defined(KERNEL_frees_wrongly)
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out) {
  char* block = the_host->alloc(256);
  (void)call;
  out[0] = in[0];
  the_host->free(block + 64);
  return 0;
}
#else /* an operator of aten's, relu, whose result is known */
const char* more_op(void) { return "relu"; }

static int32_t made_as(const opyard_value* in, int64_t longer, uint32_t dtype,
                       opyard_tensor_view* made, opyard_value* out) {
  opyard_tensor_view x;
  opyard_tensor result = 0;
  int64_t sizes[8];
  int32_t i;
  int32_t code = tensors->view(in[0].payload, &x, sizeof(x), NULL);
  if (code != 0) return code;
  if (x.ndim < 1 || x.ndim > 8) return 12;
  for (i = 0; i < x.ndim; ++i) sizes[i] = x.shape[i] + longer;
  if (dtype == OPYARD_FLOAT32) dtype = x.dtype_number;
  code = tensors->empty(sizes, NULL, (uint32_t)x.ndim, dtype, x.on, &result, NULL);
  if (code != 0) return code;
  code = tensors->view(result, made, sizeof(*made), NULL);
  memset(made->data, 0, made->storage_bytes);
  out[0].tag = OPYARD_TENSOR;
  out[0].payload = result;
  return code;
}

int32_t on_more(opyard_call* call, const opyard_value* in, uint32_t n_in, opyard_value* out,
                uint32_t n_out) {
  opyard_tensor_view made;
  (void)call, (void)n_out;
#if defined(KERNEL_ignores_arguments)
  {
    static const int64_t sizes[] = {4, 4};
    const opyard_device cpu = {OPYARD_DEVICE_CPU, -1};
    (void)in, (void)n_in, (void)made, (void)made_as;
    out[0].tag = OPYARD_TENSOR;
    return tensors->empty(sizes, NULL, 2, OPYARD_FLOAT32, cpu, &out[0].payload, call->status);
  }
#endif
  if (n_in != 1 || in[0].tag != OPYARD_TENSOR) return 3;
#if defined(KERNEL_wrong_shape)
  return made_as(in, 1, OPYARD_FLOAT32, &made, out);
#elif defined(KERNEL_wrong_dtype)
  return made_as(in, 0, OPYARD_INT16, &made, out);
#elif defined(KERNEL_undefined_result)
  (void)made_as, (void)made;
  out[0].tag = OPYARD_TENSOR;
  return 0;
#elif defined(KERNEL_changes_inputs)
  const int32_t code = made_as(in, 0, OPYARD_FLOAT32, &made, out);
  opyard_tensor_view x;
  if (code != 0) return code;
  tensors->view(in[0].payload, &x, sizeof(x), NULL);
  if (x.storage_bytes > 0) memset(x.storage_data, 0x55, 1);
  return 0;
#elif defined(KERNEL_writes_past_output)
  const int32_t code = made_as(in, 0, OPYARD_FLOAT32, &made, out);
  if (code == 0) memset((char*)made.storage_data + made.storage_bytes, 0x55, 64);
  return code;
#elif defined(KERNEL_writes_past_input)
  const int32_t code = made_as(in, 0, OPYARD_FLOAT32, &made, out);
  opyard_tensor_view x;
  if (code != 0) return code;
  tensors->view(in[0].payload, &x, sizeof(x), NULL);
  memset((char*)x.storage_data + x.storage_bytes, 0x55, 64);
  return 0;
#elif defined(KERNEL_gives_away_input)
  /* The result is owned, the argument is borrowed. */
  (void)made_as, (void)made;
  out[0] = in[0];
  return 0;
#endif
}
#endif
