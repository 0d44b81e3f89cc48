/* What is written into a copy of a torture plugin's file, so that every generation is a build of
 * its own and says in each result which one it is. C11 and C++. */
#ifndef OPYARD_TESTS_TORTURE_STAMP_H
#define OPYARD_TESTS_TORTURE_STAMP_H

#include <stdint.h>

enum torture_fault {
  TORTURE_SOUND = 0,
  TORTURE_INIT_FAILS = 1,
  TORTURE_LATE_FAILURE = 2, /* in C its activate fails; in C++ its kernels are refused */
  TORTURE_SLOW_INIT = 3,    /* takes slow_ms, then is sound */
  TORTURE_SLOW_END = 4,     /* its quiesce takes slow_ms */
  TORTURE_THREAD = 5        /* has a thread of its own, from init to quiesce */
};

/* Lies in the file's data behind a mark that occurs once. */
struct torture_stamp {
  char mark[24];
  uint64_t number;
  uint32_t fault;
  uint32_t slow_ms;
};

#define TORTURE_MARK "opyard torture stamp ->"

#endif
