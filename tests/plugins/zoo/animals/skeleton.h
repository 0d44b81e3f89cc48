/* What an animal says about itself. The skeleton has a harmless answer for each; an animal defines
 * those that it is about. Everything is hidden, so that animals do not meet each other. */
#ifndef OPYARD_TESTS_PLUGINS_ZOO_SKELETON_H
#define OPYARD_TESTS_PLUGINS_ZOO_SKELETON_H

#include "opyard_note.h"
#include "opyard_tensors.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

extern const opyard_host* the_host; /* from init on */
extern const opyard_tensors* tensors;

/* The functions of the plugin's table; on_start comes first in init. */
int32_t on_start(const opyard_host* host, opyard_status* status);
int32_t on_init(opyard_status* status);
int32_t on_activate(opyard_status* status);
int32_t on_quiesce(void);
int32_t on_drain(void);
void on_fini(void);

/* zoo::g(int n) -> int; returns n. */
int32_t on_g(opyard_call* call, const opyard_value* in, opyard_value* out);
/* zoo::f(Tensor x) -> Tensor; returns x. */
int32_t on_f(opyard_call* call, const opyard_value* in, opyard_value* out);

/* How zoo::g is defined. */
const char* schema_of_g(void);

/* One definition more, by the namespace of its choice; null: none. */
const char* more_space(void);
const char* more_schema(void);
/* One kernel more for an operator of aten's, at the key CPU; null: none. */
const char* more_op(void);
int32_t on_more(opyard_call* call, const opyard_value* in, uint32_t n_in, opyard_value* out,
                uint32_t n_out);

opyard_str words(const char* text);
/* Sets the status and returns the code. */
int32_t refuse(opyard_status* status, int32_t code, const char* reason);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
