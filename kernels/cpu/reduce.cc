#include "kernels/functors/reduce.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/reduction.h"
#include "kernels/functors/convert.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
OPYARD_BEGIN_ISA
namespace {

// What sums are kept in: wide enough that rounding does not show for float32, and 64 bits for
// integers, whose overflow wraps.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <typename A>
struct Plus {
  static constexpr A start() { return A(0); }
  A operator()(A a, A b) const {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};

// Folds a run into one accumulator, over several lanes so that the additions overlap.
template <typename A, typename T, typename F>
A fold_run(const char* data, int64_t stride, int64_t n, A value, const F f) {
  constexpr int64_t kLanes = 16;
  int64_t i = 0;
  if (stride == static_cast<int64_t>(sizeof(T)) && n >= 2 * kLanes) {
    const auto* in = reinterpret_cast<const T*>(data);
    A lanes[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = static_cast<A>(in[lane]);
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = f(lanes[lane], static_cast<A>(in[i + lane]));
      }
    }
    for (const A lane : lanes) value = f(value, lane);
  }
  for (; i < n; ++i) {
    value = f(value, static_cast<A>(*reinterpret_cast<const T*>(data + i * stride)));
  }
  return value;
}

template <typename A, typename T, typename F>
void fold_loop(void*, char* const* data, const int64_t* strides, int64_t n) {
  const F f;
  if (strides[0] == 0) {
    A& value = *reinterpret_cast<A*>(data[0]);
    value = fold_run<A, T>(data[1], strides[1], n, value, f);
    return;
  }
  if (strides[0] == static_cast<int64_t>(sizeof(A)) &&
      strides[1] == static_cast<int64_t>(sizeof(T))) {
    auto* values = reinterpret_cast<A*>(data[0]);
    const auto* in = reinterpret_cast<const T*>(data[1]);
    OPYARD_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) values[i] = f(values[i], static_cast<A>(in[i]));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    A& value = at<A>(data[0], i * strides[0]);
    value = f(value, static_cast<A>(at<T>(data[1], i * strides[1])));
  }
}

template <typename A, typename F>
void start_accumulators(void* accumulators, int64_t n) {
  std::fill_n(static_cast<A*>(accumulators), n, F::start());
}

// Folds self, read as T, with F, and writes finish(accumulator) as R to out.
template <typename A, typename T, typename F, typename R, typename Finish>
void reduce(const Reduction& plan, const Tensor& self, Tensor& out, const Finish finish) {
  constexpr ScalarType kAccumulator = detail::CppScalarType<A>::kValue;
  const Folding folding = {detail::CppScalarType<T>::kValue, kAccumulator, &fold_loop<A, T, F>,
                           &fold_loop<A, A, F>, &start_accumulators<A, F>};
  A few[32];
  Tensor many;
  void* accumulators = few;
  if (plan.kept > 32) {
    many = make_tensor({plan.kept}, kAccumulator);
    accumulators = many.raw_data();
  }
  folding.start(accumulators, plan.kept);
  fold(plan, self, folding, accumulators);
  TensorIterator it(plan.kept_sizes, {{out.raw_data(), plan.out_strides, out.dtype()},
                                      {accumulators, plan.kept_strides, kAccumulator}});
  it.present_as(0, detail::CppScalarType<R>::kValue);
  run(it, kCheapGrain, [finish](char* const* data, const int64_t* strides, int64_t n) {
    unary_run<R, A>(data, strides, n, finish);
  });
}

}  // namespace

void sum(const Tensor& self, std::optional<IntList> dim, bool keepdim,
         std::optional<ScalarType> dtype, Tensor& out) {
  const Reduction plan(self, dim, keepdim, out);
  const ScalarType read = dtype                       ? *dtype
                          : is_floating(self.dtype()) ? self.dtype()
                                                      : ScalarType::kInt64;
  if (!dtype && !is_floating(self.dtype())) {
    // Narrow integers are widened as they are added.
    visit_dtype(self.dtype(), "sum", [&]<typename T>(std::type_identity<T>) {
      if constexpr (std::is_integral_v<T>) {
        reduce<int64_t, T, Plus<int64_t>, int64_t>(plan, self, out, [](int64_t a) { return a; });
      }
    });
    return;
  }
  visit_dtype(read, "sum", [&]<typename T>(std::type_identity<T>) {
    using A = SumOf<T>;
    reduce<A, T, Plus<A>, T>(plan, self, out, [](A a) { return functors::convert<T>(a); });
  });
}

void mean(const Tensor& self, std::optional<IntList> dim, bool keepdim,
          std::optional<ScalarType> dtype, Tensor& out) {
  const Reduction plan(self, dim, keepdim, out);
  const double count = static_cast<double>(plan.folded);
  visit_floating(dtype.value_or(self.dtype()), "mean", [&]<typename T>(std::type_identity<T>) {
    reduce<double, T, Plus<double>, T>(plan, self, out,
                                       [count](double a) { return static_cast<T>(a / count); });
  });
}

void amax(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  const Reduction plan(self, dim, keepdim, out);
  OPYARD_CHECK(plan.numel > 0 || plan.kept == 0, kInvalidArgument,
               "amax over dimensions without elements has no value; the input has shape ",
               to_string(self.sizes()));
  visit_dtype(self.dtype(), "amax", [&]<typename T>(std::type_identity<T>) {
    reduce<T, T, functors::MaxNan<T>, T>(plan, self, out, [](T a) { return a; });
  });
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  if (isa() != OPYARD_THIS_ISA) return;
  m.impl("sum.dim_IntList", OPYARD_FN(sum));
  m.impl("mean.dim", OPYARD_FN(mean));
  m.impl("amax", OPYARD_FN(amax));
}

OPYARD_END_ISA
}  // namespace opyard::cpu
