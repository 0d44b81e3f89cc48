/* Animals that define operators otherwise: SCHEMA_… */
#include "skeleton.h"

#pragma GCC visibility push(hidden)

#if defined(SCHEMA_of_another)
const char* more_space(void) { return "neighbour"; }
const char* more_schema(void) { return "seven(Tensor x, int more=0) -> int"; }
#elif defined(SCHEMA_twice)
const char* more_space(void) { return "zoo"; }
const char* more_schema(void) { return "g(int n) -> int"; }
#elif defined(SCHEMA_broken)
const char* more_space(void) { return "zoo"; }
const char* more_schema(void) { return "h(Tensor x, -> int"; }
#elif defined(SCHEMA_changed)
const char* schema_of_g(void) { return "g(int n, int more=0) -> int"; }
#endif
