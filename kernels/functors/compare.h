#pragma once

#include "kernels/functors/macros.h"

// Comparisons; with nan all are false but Ne.
namespace opyard::functors {

#define OPYARD_COMPARISON(name, op)                                       \
  template <typename T>                                                   \
  struct name {                                                           \
    OPYARD_HOST_DEVICE bool operator()(T a, T b) const { return a op b; } \
  };
OPYARD_COMPARISON(Eq, ==)
OPYARD_COMPARISON(Ne, !=)
OPYARD_COMPARISON(Gt, >)
OPYARD_COMPARISON(Lt, <)
OPYARD_COMPARISON(Ge, >=)
OPYARD_COMPARISON(Le, <=)
#undef OPYARD_COMPARISON

}  // namespace opyard::functors
