// Matrix products by BLIS: a kernel pack in C++ over the C interface.
#include <blis.h>
#include <cblas.h>

#include <limits>

#include "plugins/sdk/opyard_stable.h"

namespace {

using namespace opyard::stable;

void check_matrix(const Tensor& x) {
  require(x.dim() == 2 && x.is_contiguous(), Code::kInvalidArgument,
          "matmul wants two row-major matrices that fit, float32 or float64");
  for (const int64_t size : x.sizes()) {
    require(size <= std::numeric_limits<f77_int>::max(), Code::kInvalidArgument,
            "the matrix is too large for BLIS");
  }
}

template <typename T, typename F>
void multiply(F* gemm, const Tensor& a, const Tensor& b, const Tensor& c) {
  const auto m = static_cast<f77_int>(a.sizes()[0]);
  const auto k = static_cast<f77_int>(a.sizes()[1]);
  const auto n = static_cast<f77_int>(b.sizes()[1]);
  if (m == 0 || n == 0) return;
  gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, T{1}, a.data<const T>(), k ? k : 1,
       b.data<const T>(), n, T{0}, c.data<T>(), n);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_matrix(a);
  check_matrix(b);
  require(a.dtype() == b.dtype() && a.sizes()[1] == b.sizes()[0], Code::kInvalidArgument,
          "matmul wants two row-major matrices that fit, float32 or float64");
  const Tensor c = Tensor::empty({a.sizes()[0], b.sizes()[1]}, a.dtype());
  if (a.dtype() == DType::kFloat64) {
    multiply<double>(&cblas_dgemm, a, b, c);
  } else {
    multiply<float>(&cblas_sgemm, a, b, c);
  }
  return c;
}

// Which library computes.
std::string by(const Tensor&) { return std::string("BLIS ") + bli_info_get_version_str(); }

OPYARD_LIBRARY(outsider, m) {
  m.def("matmul(Tensor a, Tensor b) -> Tensor");
  m.def("by(Tensor x) -> str");
}
OPYARD_LIBRARY_IMPL(outsider, CPU, m) {
  m.impl("matmul", OPYARD_FN(matmul));
  m.impl("by", OPYARD_FN(by));
}

}  // namespace

OPYARD_STABLE_PLUGIN("outsider_matmul", "0.9", .unload_class = OPYARD_UNLOADABLE_BUT_DEPENDENCIES,
                     .claims = "CPU");
