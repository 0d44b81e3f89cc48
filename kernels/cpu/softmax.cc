#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/vector_math.h"
#include "kernels/functors/reduce.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
OPYARD_BEGIN_ISA
namespace {

// One vector: e^(x - max) over its sum. `to` and `from` may be the same elements; `row` has room
// for a vector, and is `to` where that is a run.
template <typename T>
void softmax_vector(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t n, T* row) {
  const functors::MaxNan<T> larger;
  T most = functors::MaxNan<T>::start();
  for (int64_t i = 0; i < n; ++i) most = larger(most, from[i * from_step]);
  for (int64_t i = 0; i < n; ++i) row[i] = from[i * from_step] - most;
  vector_exp(static_cast<const T*>(row), row, n);
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += static_cast<double>(row[i]);
  const auto scale = static_cast<T>(total);
  for (int64_t i = 0; i < n; ++i) to[i * to_step] = row[i] / scale;
}

template <typename T>
void softmax_along(const Tensor& self, size_t dim, Tensor& out) {
  const int64_t n = self.dim() == 0 ? 1 : self.sizes()[dim];
  const int64_t from_step = self.dim() == 0 ? 1 : self.strides()[dim];
  const int64_t to_step = self.dim() == 0 ? 1 : out.strides()[dim];
  Dims vectors(self.sizes());
  if (!vectors.empty()) vectors[dim] = 1;
  TensorIterator it(vectors, {{out.raw_data(), out.strides(), out.dtype()},
                              {self.raw_data(), self.strides(), self.dtype()}});
  const auto loop = [=](char* const* data, const int64_t* strides, int64_t runs) {
    std::vector<T> scratch(to_step == 1 ? 0 : static_cast<size_t>(n));
    for (int64_t i = 0; i < runs; ++i) {
      T* const to = &at<T>(data[0], i * strides[0]);
      softmax_vector(to, to_step, &at<T>(data[1], i * strides[1]), from_step, n,
                     to_step == 1 ? to : scratch.data());
    }
  };
  run(it, std::max<int64_t>(1, kCostlyGrain / n), loop);
}

}  // namespace

void softmax(const Tensor& self, int64_t dim, bool half_to_float, Tensor& out) {
  OPYARD_CHECK(!half_to_float, kInvalidArgument, "half_to_float is for float16, the input is ",
               to_string(self.dtype()));
  check_on_host(self, "the input");
  check_on_host(out, "the output");
  check_shape(out, self.sizes());
  const auto axis = static_cast<size_t>(wrap_dim(dim, self.dim()));
  if (self.numel() == 0) return;
  if (out.dtype() != self.dtype()) {
    Tensor result = make_tensor(self.sizes(), self.dtype());
    softmax(self, dim, false, result);
    copy(result, false, out);
    return;
  }
  visit_floating(self.dtype(), "_softmax",
                 [&]<typename T>(std::type_identity<T>) { softmax_along<T>(self, axis, out); });
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  if (isa() != OPYARD_THIS_ISA) return;
  m.impl("_softmax", OPYARD_FN(softmax));
}

OPYARD_END_ISA
}  // namespace opyard::cpu
