// Defines the operator axpby::axpby, a * x + b * y, with a kernel for tensors on the CPU.
#include "opyard/base/check.h"
#include "opyard/ops/clone.h"
#include "plugins/sdk/opyard_sdk.h"

namespace {

using opyard::Scalar;
using opyard::ScalarType;
using opyard::Tensor;

// What a kernel gets may be any view; this one wants its elements in a row.
Tensor in_a_row(const Tensor& x) {
  return x.is_contiguous() ? x : opyard::ops::clone(x, opyard::MemoryFormat::kContiguous);
}

template <typename T>
Tensor compute(const Tensor& x, const Tensor& y, double a, double b) {
  const Tensor result = opyard::make_tensor(x.sizes(), x.dtype());
  const Tensor row_of_x = in_a_row(x);
  const Tensor row_of_y = in_a_row(y);
  const T* px = row_of_x.data<const T>();
  const T* py = row_of_y.data<const T>();
  T* out = result.data<T>();
  for (int64_t i = 0; i < result.numel(); ++i) {
    out[i] = static_cast<T>(a) * px[i] + static_cast<T>(b) * py[i];
  }
  return result;
}

Tensor axpby(const Tensor& x, const Tensor& y, const Scalar& a, const Scalar& b) {
  OPYARD_CHECK(x.sizes() == y.sizes() && x.dtype() == y.dtype(), kInvalidArgument,
               "axpby wants two tensors of one shape and dtype, got ", describe(x), " and ",
               describe(y));
  switch (x.dtype()) {
    case ScalarType::kFloat32:
      return compute<float>(x, y, a.to_double(), b.to_double());
    case ScalarType::kFloat64:
      return compute<double>(x, y, a.to_double(), b.to_double());
    default:
      opyard::raise(opyard::Code::kUnimplemented, "axpby computes float32 and float64 only");
  }
}

OPYARD_LIBRARY(axpby, m) {
  m.def("axpby(Tensor x, Tensor y, *, Scalar a=1, Scalar b=1) -> Tensor",
        opyard::Tags{"pointwise"});
}
OPYARD_LIBRARY_IMPL(axpby, CPU, m) { m.impl("axpby", OPYARD_FN(axpby)); }

}  // namespace

OPYARD_PLUGIN("axpby", "1.0.0", .kind = OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS, .claims = "CPU");
