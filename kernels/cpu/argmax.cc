#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/reduction.h"
#include "kernels/functors/reduce.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
OPYARD_BEGIN_ISA
namespace {

template <typename T>
int64_t best_position(const char* data, int64_t stride, int64_t n) {
  T best = *reinterpret_cast<const T*>(data);
  int64_t position = 0;
  for (int64_t i = 1; i < n; ++i) {
    const T candidate = *reinterpret_cast<const T*>(data + i * stride);
    if (functors::is_better_max(candidate, best)) {
      best = candidate;
      position = i;
    }
  }
  return position;
}

// Walks the kept dimensions; at each, the folded one is `n` elements, `stride` bytes apart.
template <typename T>
void best_positions(const Reduction& plan, const Tensor& self, Tensor& out, int64_t n,
                    int64_t stride) {
  Dims kept_from(plan.self_strides.size(), 0);
  for (size_t i = 0; i < kept_from.size(); ++i) {
    if (plan.kept_sizes[i] == plan.sizes[i]) kept_from[i] = plan.self_strides[i];
  }
  TensorIterator it(plan.kept_sizes, {{out.raw_data(), plan.out_strides, out.dtype()},
                                      {self.raw_data(), kept_from, self.dtype()}});
  it.present_as(0, ScalarType::kInt64);
  const auto loop = [=](char* const* data, const int64_t* strides, int64_t runs) {
    for (int64_t i = 0; i < runs; ++i) {
      at<int64_t>(data[0], i * strides[0]) = best_position<T>(data[1] + i * strides[1], stride, n);
    }
  };
  run(it, std::max<int64_t>(1, kCheapGrain / n), loop);
}

}  // namespace

void argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  Tensor flat = self;
  if (!dim && !self.is_contiguous()) {
    // Positions are counted in row-major order.
    flat = make_tensor(self.sizes(), self.dtype());
    copy(self, false, flat);
  }
  const IntList dims = dim ? IntList(*dim) : IntList();
  const Reduction plan(flat, dims, keepdim, out);
  OPYARD_CHECK(plan.numel > 0 || plan.kept == 0, kInvalidArgument,
               "argmax over a dimension without elements has no position; the input has shape ",
               to_string(self.sizes()));
  if (plan.numel == 0) return;
  int64_t step = 1;
  if (dim && self.dim() > 0) step = self.stride(*dim);
  visit_dtype(self.dtype(), "argmax", [&]<typename T>(std::type_identity<T>) {
    best_positions<T>(plan, flat, out, plan.folded, step * static_cast<int64_t>(sizeof(T)));
  });
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  if (isa() != OPYARD_THIS_ISA) return;
  m.impl("argmax", OPYARD_FN(argmax));
}

OPYARD_END_ISA
}  // namespace opyard::cpu
