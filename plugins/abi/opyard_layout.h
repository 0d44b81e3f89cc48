/* Says at compile time how large a struct of the interface is and where its fields lie, so that
 * every compiler is known to agree. C11 and C++. */
#ifndef OPYARD_LAYOUT_H
#define OPYARD_LAYOUT_H

#include <stddef.h>

#ifdef __cplusplus
#define OPYARD_LAYOUT_IS(condition, text) static_assert(condition, text)
#else
#define OPYARD_LAYOUT_IS(condition, text) _Static_assert(condition, text)
#endif
#define OPYARD_SIZE_IS(type, bytes) OPYARD_LAYOUT_IS(sizeof(type) == (bytes), "size of " #type)
#define OPYARD_PLACE_IS(type, field, at) \
  OPYARD_LAYOUT_IS(offsetof(type, field) == (at), "place of " #type "." #field)

#endif
