#include "opyard/ops/mean.h"
#include "opyard/ops/sum.h"

namespace opyard::composite {

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) {
  return handles::sum_dim_IntList(self, std::nullopt, false, dtype);
}

Tensor mean(const Tensor& self, std::optional<ScalarType> dtype) {
  return handles::mean_dim(self, std::nullopt, false, dtype);
}

}  // namespace opyard::composite
