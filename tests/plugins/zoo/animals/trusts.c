/* Animals that do not look at what they get: TRUSTS_… */
#include "skeleton.h"

#pragma GCC visibility push(hidden)

#if defined(TRUSTS_alloc)
int32_t on_init(opyard_status* status) {
  char* block = the_host->alloc(64);
  (void)status;
  memset(block, 1, 64);
  the_host->free(block);
  return 0;
}
#elif defined(TRUSTS_extensions)
int32_t on_start(const opyard_host* host, opyard_status* status) {
  const opyard_tensors* mine = host->get_extension(host, words("opyard.tensors"), 1);
  (void)status;
  mine->release(0);
  return 0;
}
#else
const char* more_op(void) { return "relu"; }

int32_t on_more(opyard_call* call, const opyard_value* in, uint32_t n_in, opyard_value* out,
                uint32_t n_out) {
  opyard_tensor_view x;
  opyard_tensor_view y;
  (void)call, (void)n_in, (void)n_out;
#if defined(TRUSTS_tensors)
  if (in[0].tag != OPYARD_TENSOR || tensors->view(in[0].payload, &x, sizeof(x), NULL) != 0) {
    return 3;
  }
  out[0].tag = OPYARD_TENSOR;
  tensors->empty(x.shape, NULL, (uint32_t)x.ndim, x.dtype_number, x.on, &out[0].payload, NULL);
  memset(&y, 0, sizeof(y));
  tensors->view(out[0].payload, &y, sizeof(y), NULL);
  memset(y.data, 0, 64);
  return 0;
#else /* takes the payload for a tensor whatever the tag says */
  (void)y;
  memset(&x, 0, sizeof(x));
  tensors->view(in[0].payload, &x, sizeof(x), NULL);
  *(volatile char*)x.data = 1;
  return tensors->empty(x.shape, NULL, (uint32_t)x.ndim, x.dtype_number, x.on, &out[0].payload,
                        NULL);
#endif
}
#endif
