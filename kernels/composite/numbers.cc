#include "opyard/ops/add.h"
#include "opyard/ops/div.h"
#include "opyard/ops/eq.h"
#include "opyard/ops/ge.h"
#include "opyard/ops/gt.h"
#include "opyard/ops/le.h"
#include "opyard/ops/lt.h"
#include "opyard/ops/mul.h"
#include "opyard/ops/ne.h"
#include "opyard/ops/sub.h"

// Forms with a bare number: it becomes a 0-d tensor that yields in type promotion.

namespace opyard::composite {

#define OPYARD_WITH_ALPHA(op)                                                        \
  Tensor op##_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) { \
    return ops::op(self, wrapped_number(other), alpha);                              \
  }                                                                                  \
  Tensor& op##_scalar_(Tensor& self, const Scalar& other, const Scalar& alpha) {     \
    return ops::op##_(self, wrapped_number(other), alpha);                           \
  }
#define OPYARD_PLAIN(op)                                        \
  Tensor op##_scalar(const Tensor& self, const Scalar& other) { \
    return ops::op(self, wrapped_number(other));                \
  }                                                             \
  Tensor& op##_scalar_(Tensor& self, const Scalar& other) {     \
    return ops::op##_(self, wrapped_number(other));             \
  }
#define OPYARD_COMPARISON(op)                                                     \
  OPYARD_PLAIN(op)                                                                \
  Tensor& op##_scalar_out(const Tensor& self, const Scalar& other, Tensor& out) { \
    return ops::op##_out(out, self, wrapped_number(other));                       \
  }

OPYARD_WITH_ALPHA(add)
OPYARD_WITH_ALPHA(sub)
OPYARD_PLAIN(mul)
OPYARD_PLAIN(div)
OPYARD_COMPARISON(eq)
OPYARD_COMPARISON(ne)
OPYARD_COMPARISON(gt)
OPYARD_COMPARISON(ge)
OPYARD_COMPARISON(lt)
OPYARD_COMPARISON(le)

}  // namespace opyard::composite
