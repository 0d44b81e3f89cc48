// What the toy computes itself. A kernel checks what it can do, takes hold of its tensors and puts
// the work into the device's default stream; all else is left to the host.
#include <algorithm>
#include <array>
#include <vector>

#include "device.h"
#include "opyard/base/check.h"
#include "opyard/core/tensor.h"
#include "opyard/dispatch/library.h"

// The name that the device claims is the key of its kernels.
#define TOY_LIBRARY(ns, key, m) OPYARD_LIBRARY_IMPL(ns, key, m)

namespace toy {
namespace {

using opyard::Code;
using opyard::IntList;
using opyard::Scalar;
using opyard::ScalarType;
using opyard::Tensor;

template <typename F>
auto visit(ScalarType dtype, const F& function) {
  switch (dtype) {
    case ScalarType::kUInt8:
      return function(uint8_t{});
    case ScalarType::kInt8:
      return function(int8_t{});
    case ScalarType::kInt16:
      return function(int16_t{});
    case ScalarType::kInt32:
      return function(int32_t{});
    case ScalarType::kInt64:
      return function(int64_t{});
    case ScalarType::kFloat32:
      return function(float{});
    case ScalarType::kFloat64:
      return function(double{});
    case ScalarType::kBool:
      return function(bool{});
    default:
      opyard::raise(Code::kUnimplemented,
                    opyard::str_cat("the toy does not compute with ", opyard::to_string(dtype),
                                    "; copy the tensor to cpu, or to float32"));
  }
}

// A fraction that no integer holds becomes 0 or the nearest end of int64.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    if (!(value > -9.2e18)) return static_cast<To>(value <= -9.2e18 ? INT64_MIN : 0);
    return static_cast<To>(value < 9.2e18 ? static_cast<int64_t>(value) : INT64_MAX);
  } else {
    return static_cast<To>(value);
  }
}

// A tensor that queued work reads or writes: held until it is done. A number of the host is read at
// the call, since it may change.
class Operand {
 public:
  Operand(const Tensor& tensor, IntList shape) : dtype_(tensor.dtype()), tensor_(tensor) {
    visit(dtype_, [](auto) { return 0; });
    if (tensor.device().is_cpu()) {
      visit(dtype_, [&](auto type) {
        using T = decltype(type);
        number_ = static_cast<double>(*tensor.data<T>());
        whole_ = static_cast<int64_t>(*tensor.data<T>());
        return 0;
      });
      return;
    }
    data_ = static_cast<char*>(Runtime::host(reinterpret_cast<opyard_address>(tensor.raw_data())));
    OPYARD_CHECK(data_ != nullptr, kInvalidArgument, "the tensor (", opyard::describe(tensor),
                 ") has no memory of the toy");
    const size_t missing = shape.size() - tensor.sizes().size();
    strides_.assign(shape.size(), 0);
    for (size_t d = missing; d < shape.size(); ++d) {
      if (tensor.sizes()[d - missing] != 1) strides_[d] = tensor.strides()[d - missing];
    }
  }

  int64_t step(size_t dim) const { return data_ ? strides_[dim] : 0; }
  template <typename Compute>
  Compute get(int64_t at) const {
    if (!data_) {
      return std::is_floating_point_v<Compute> ? static_cast<Compute>(number_)
                                               : static_cast<Compute>(whole_);
    }
    return visit(dtype_, [&](auto type) {
      return convert<Compute>(reinterpret_cast<const decltype(type)*>(data_)[at]);
    });
  }
  template <typename Compute>
  void set(int64_t at, Compute value) const {
    visit(dtype_, [&](auto type) {
      using T = decltype(type);
      reinterpret_cast<T*>(data_)[at] = convert<T>(value);
      return 0;
    });
  }

 private:
  ScalarType dtype_;
  Tensor tensor_;
  char* data_ = nullptr;  // null: a number of the host
  double number_ = 0;
  int64_t whole_ = 0;
  std::vector<int64_t> strides_;
};

void enqueue(const Tensor& out, std::function<void()> work) {
  const auto device = static_cast<uint32_t>(std::max<int16_t>(out.device().index, 0));
  runtime().stream(device, 0)->push(std::move(work));
}

// function(places) for every element, with the place of the element in each operand.
template <size_t N, typename F>
void for_each(IntList sizes, const std::array<const Operand*, N>& operands, const F& function) {
  std::vector<int64_t> index(sizes.size(), 0);
  std::array<int64_t, N> at{};
  for (;;) {
    function(at);
    size_t dim = sizes.size();
    for (; dim-- > 0;) {
      for (size_t i = 0; i < N; ++i) at[i] += operands[i]->step(dim);
      if (++index[dim] < sizes[dim]) break;
      for (size_t i = 0; i < N; ++i) at[i] -= operands[i]->step(dim) * sizes[dim];
      index[dim] = 0;
    }
    if (dim == SIZE_MAX) return;
  }
}

// out = function(a, b), in double or in int64.
template <typename F>
void pointwise(const Tensor& a, const Tensor& b, const Tensor& out, bool in_double, F function) {
  const Operand left(a, out.sizes());
  const Operand right(b, out.sizes());
  const Operand result(out, out.sizes());
  enqueue(out, [left, right, result, in_double, function,
                sizes = std::vector<int64_t>(out.sizes().begin(), out.sizes().end())] {
    const auto run = [&](auto type) {
      using T = decltype(type);
      for_each<3>(sizes, {&left, &right, &result}, [&](const auto& at) {
        result.set(at[2], function(left.get<T>(at[0]), right.get<T>(at[1])));
      });
    };
    in_double ? run(double{}) : run(int64_t{});
  });
}

void add(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  const double factor = alpha.to_double();
  const int64_t whole = alpha.is_double() ? 0 : alpha.to_int();
  pointwise(self, other, out, opyard::is_floating(out.dtype()), [factor, whole](auto a, auto b) {
    if constexpr (std::is_floating_point_v<decltype(a)>) {
      return a + factor * b;
    } else {  // unsigned: as integers wrap around everywhere
      return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                  static_cast<uint64_t>(whole) * static_cast<uint64_t>(b));
    }
  });
}

void mul(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise(self, other, out, opyard::is_floating(out.dtype()), [](auto a, auto b) {
    if constexpr (std::is_floating_point_v<decltype(a)>) {
      return a * b;
    } else {
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
  });
}

void relu(const Tensor& self, Tensor& out) {
  pointwise(self, self, out, opyard::is_floating(out.dtype()),
            [](auto a, auto) { return a < 0 ? decltype(a){0} : a; });
}

// What does not leave the device, whatever the layouts and dtypes are.
void copy(const Tensor& src, bool, Tensor& out) {
  const bool in_double = opyard::is_floating(src.dtype()) || opyard::is_floating(out.dtype());
  pointwise(src, src, out, in_double, [](auto a, auto) { return a; });
}

void mm(const Tensor& self, const Tensor& mat2, Tensor& out) {
  OPYARD_CHECK(opyard::is_floating(out.dtype()), kUnimplemented,
               "the toy multiplies matrices of floating dtypes only");
  const Operand left(self, self.sizes());
  const Operand right(mat2, mat2.sizes());
  const Operand result(out, out.sizes());
  const int64_t rows = out.size(0);
  const int64_t columns = out.size(1);
  const int64_t inner = self.size(1);
  enqueue(out, [left, right, result, rows, columns, inner] {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          sum += left.get<double>(i * left.step(0) + k * left.step(1)) *
                 right.get<double>(k * right.step(0) + j * right.step(1));
        }
        result.set(i * result.step(0) + j * result.step(1), sum);
      }
    }
  });
}

TOY_LIBRARY(kernel, TOY_NAME, m) {
  m.impl("add.Tensor", OPYARD_FN(add));
  m.impl("mul.Tensor", OPYARD_FN(mul));
  m.impl("relu", OPYARD_FN(relu));
  m.impl("copy", OPYARD_FN(copy));
  m.impl("mm", OPYARD_FN(mm));
}

}  // namespace
}  // namespace toy
