#include "kernels/functors/compare.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
OPYARD_BEGIN_ISA
namespace {

template <template <typename> typename F>
void compare(const Tensor& self, const Tensor& other, Tensor& out, const char* name) {
  auto it = TensorIterator::elementwise(out, {&self, &other});
  const ScalarType common = result_type(self, other);
  visit_dtype(common, name, [&]<typename T>(std::type_identity<T>) {
    binary<bool, T>(it, common, ScalarType::kBool, kCheapGrain, F<T>{});
  });
}

template <typename T>
struct WhereRun {
  void operator()(char* const* data, const int64_t* strides, int64_t n) const {
    constexpr auto kT = static_cast<int64_t>(sizeof(T));
    if (strides[0] == kT && strides[1] == 1 && strides[2] == kT && strides[3] == kT) {
      select(
          data, n, [&](int64_t i) { return at<T>(data[2], i * kT); },
          [&](int64_t i) { return at<T>(data[3], i * kT); });
    } else if (strides[0] == kT && strides[1] == 1 && strides[2] == kT && strides[3] == 0) {
      select(
          data, n, [&](int64_t i) { return at<T>(data[2], i * kT); },
          [number = at<T>(data[3], 0)](int64_t) { return number; });
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const T a = at<T>(data[2], i * strides[2]);
        const T b = at<T>(data[3], i * strides[3]);
        at<T>(data[0], i * strides[0]) = at<bool>(data[1], i * strides[1]) ? a : b;
      }
    }
  }

 private:
  template <typename A, typename B>
  static void select(char* const* data, int64_t n, const A& a, const B& b) {
    auto* out = reinterpret_cast<T*>(data[0]);
    const auto* condition = reinterpret_cast<const uint8_t*>(data[1]);
    OPYARD_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) {
      const T first = a(i);
      const T second = b(i);
      out[i] = condition[i] != 0 ? first : second;
    }
  }
};

}  // namespace

void eq(const Tensor& self, const Tensor& other, Tensor& out) {
  compare<functors::Eq>(self, other, out, "eq");
}
void ne(const Tensor& self, const Tensor& other, Tensor& out) {
  compare<functors::Ne>(self, other, out, "ne");
}
void gt(const Tensor& self, const Tensor& other, Tensor& out) {
  compare<functors::Gt>(self, other, out, "gt");
}
void lt(const Tensor& self, const Tensor& other, Tensor& out) {
  compare<functors::Lt>(self, other, out, "lt");
}
void ge(const Tensor& self, const Tensor& other, Tensor& out) {
  compare<functors::Ge>(self, other, out, "ge");
}
void le(const Tensor& self, const Tensor& other, Tensor& out) {
  compare<functors::Le>(self, other, out, "le");
}

void where(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  auto it = TensorIterator::elementwise(out, {&condition, &self, &other});
  const ScalarType common = result_type(self, other);
  it.present_as(0, common);
  it.present_as(1, ScalarType::kBool);
  it.present_as(2, common);
  it.present_as(3, common);
  visit_dtype(common, "where",
              [&]<typename T>(std::type_identity<T>) { run(it, kCheapGrain, WhereRun<T>{}); });
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  if (isa() != OPYARD_THIS_ISA) return;
  m.impl("eq.Tensor", OPYARD_FN(eq));
  m.impl("ne.Tensor", OPYARD_FN(ne));
  m.impl("gt.Tensor", OPYARD_FN(gt));
  m.impl("lt.Tensor", OPYARD_FN(lt));
  m.impl("ge.Tensor", OPYARD_FN(ge));
  m.impl("le.Tensor", OPYARD_FN(le));
  m.impl("where.self", OPYARD_FN(where));
}

OPYARD_END_ISA
}  // namespace opyard::cpu
