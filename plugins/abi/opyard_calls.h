/* Host extension "opyard.calls", version 1: operators called by name, and a kernel's own call
 * passed on. C11. Get the table with host->get_extension(host, "opyard.calls", 1); it is valid
 * until fini returns.
 *
 * All functions are [any] and reentrant, return a canonical code, and take a null status. Arguments
 * are borrowed, results owned by the caller afterwards: release them with value_release of
 * opyard_tensors.h. `out` is written whole: OPYARD_NONE everywhere when the call fails. Within a
 * kernel they use the tables that its own call has pinned, so that one outermost call sees one
 * state of all plugins. */
#ifndef OPYARD_CALLS_H
#define OPYARD_CALLS_H

#include "opyard_layout.h"
#include "opyard_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operator. Valid as long as the process, whoever defined it: when that one goes, calls are
 * FAILED_PRECONDITION or reach whoever defines the same words anew. */
typedef const struct opyard_op_* opyard_op;

typedef struct opyard_calls {
  uint32_t struct_size;
  uint32_t flags;

  /* By full name, "aten::add.Tensor"; NOT_FOUND naming the nearest. */
  int32_t (*find)(opyard_str name, opyard_op* op, opyard_status* status);
  /* The text of the operator's schema, as a STR owned by the caller. */
  int32_t (*schema)(opyard_op op, opyard_value* text, opyard_status* status);
  /* A new call, through all keys of its arguments and of the thread. n_in and n_out are those of
   * the schema; defaults are not filled in. */
  int32_t (*call)(opyard_op op, const opyard_value* in, uint32_t n_in, opyard_value* out,
                  uint32_t n_out, opyard_status* status);

  /* The operator that a kernel was called for; a fallback serves many. */
  int32_t (*op_of)(const opyard_call* call, opyard_op* op, opyard_status* status);
  /* The keys of `call` below the one named ("AutogradCPU"); for an empty name below the kernel's
   * own. */
  int32_t (*keys_below)(const opyard_call* call, opyard_str key, uint64_t* keys,
                        opyard_status* status);
  /* Goes on with the call that a kernel is in, at `keys` as they are. `call` is the kernel's, which
   * has not returned yet. */
  int32_t (*redispatch)(const opyard_call* call, uint64_t keys, const opyard_value* in,
                        uint32_t n_in, opyard_value* out, uint32_t n_out, opyard_status* status);
} opyard_calls;

#ifdef __cplusplus
}
#endif

OPYARD_SIZE_IS(opyard_calls, 56);
OPYARD_PLACE_IS(opyard_calls, find, 8);
OPYARD_PLACE_IS(opyard_calls, redispatch, 48);

#endif
