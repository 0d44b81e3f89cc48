#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/operands.h"
#include "kernels/shape/layout.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
namespace {

// Rows or columns a step apart can be handed over as they are; anything else is not.
bool steps_fit(int64_t inner_step, int64_t inner, int64_t outer_step, int64_t outer) {
  return (inner <= 1 || inner_step == 1) &&
         (outer <= 1 || outer_step >= std::max<int64_t>(1, inner));
}

// A 2-d tensor of dtype `dtype` as a matrix; `held` keeps a copy where one is needed.
Matrix as_matrix(const Tensor& tensor, ScalarType dtype, Tensor& held) {
  const int64_t rows = tensor.sizes()[0];
  const int64_t columns = tensor.sizes()[1];
  const int64_t down = tensor.strides()[0];
  const int64_t right = tensor.strides()[1];
  if (tensor.dtype() == dtype) {
    if (steps_fit(right, columns, down, rows)) {
      return {tensor.raw_data(), rows, columns, false,
              rows <= 1 ? std::max<int64_t>(1, columns) : down};
    }
    if (steps_fit(down, rows, right, columns)) {
      return {tensor.raw_data(), rows, columns, true,
              columns <= 1 ? std::max<int64_t>(1, rows) : right};
    }
  }
  held = make_tensor(tensor.sizes(), dtype);
  copy(tensor, false, held);
  return {held.raw_data(), rows, columns, false, std::max<int64_t>(1, columns)};
}

Matrix transpose(const Matrix& m) { return {m.data, m.columns, m.rows, !m.transposed, m.ld}; }

bool may_overlap(const Tensor& a, const Tensor& b) {
  return shape::overlap(a, b) != shape::Overlap::kNone;
}

// out = alpha * mat1 mat2 + beta * out. The shapes have been checked, out has elements.
template <typename T>
void multiply(T alpha, const Tensor& mat1, const Tensor& mat2, T beta, Tensor& out) {
  Tensor held1, held2;
  const Matrix a = as_matrix(mat1, out.dtype(), held1);
  const Matrix b = as_matrix(mat2, out.dtype(), held2);
  const int64_t rows = out.sizes()[0];
  const int64_t columns = out.sizes()[1];
  const int64_t down = out.strides()[0];
  const int64_t right = out.strides()[1];
  const bool apart =
      (held1.defined() || !may_overlap(mat1, out)) && (held2.defined() || !may_overlap(mat2, out));
  if (apart && steps_fit(right, columns, down, rows)) {
    gemm(alpha, a, b, beta, out.data<T>(), rows <= 1 ? columns : down);
  } else if (apart && steps_fit(down, rows, right, columns)) {
    // The transposed product, into memory that is row-major for it.
    gemm(alpha, transpose(b), transpose(a), beta, out.data<T>(), columns <= 1 ? rows : right);
  } else {
    Tensor result = make_tensor(out.sizes(), out.dtype());
    if (beta != T(0)) copy(out, false, result);
    gemm(alpha, a, b, beta, result.data<T>(), columns);
    copy(result, false, out);
  }
}

void check_matrices(const Tensor& mat1, const Tensor& mat2, const Tensor& out) {
  check_on_host(mat1, "the first matrix");
  check_on_host(mat2, "the second matrix");
  check_on_host(out, "the output");
  OPYARD_CHECK(mat1.dim() == 2 && mat2.dim() == 2, kInvalidArgument,
               "a matrix product needs two 2-d tensors, got shapes ", to_string(mat1.sizes()),
               " and ", to_string(mat2.sizes()));
  OPYARD_CHECK(mat1.sizes()[1] == mat2.sizes()[0], kInvalidArgument, "a matrix of shape ",
               to_string(mat1.sizes()), " cannot be multiplied with one of ",
               to_string(mat2.sizes()),
               ": the first's columns must be as many as the second's rows");
  check_shape(out, {mat1.sizes()[0], mat2.sizes()[1]});
}

}  // namespace

void mm(const Tensor& self, const Tensor& mat2, Tensor& out) {
  check_matrices(self, mat2, out);
  if (out.numel() == 0) return;
  if (self.sizes()[1] == 0) {
    fill(Scalar(0), out);
    return;
  }
  visit_numbers(out.dtype(), "mm", [&]<typename T>(std::type_identity<T>) {
    multiply<T>(T(1), self, mat2, T(0), out);
  });
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, Tensor& out) {
  check_matrices(mat1, mat2, out);
  if (out.numel() == 0) return;
  visit_numbers(out.dtype(), "addmm", [&]<typename T>(std::type_identity<T>) {
    const T scale = factor_as<T>(beta);
    const T factor = factor_as<T>(alpha);
    const bool in_place = self.is_same(out);
    if (!in_place && (may_overlap(mat1, out) || may_overlap(mat2, out))) {
      // Neither matrix may change before it is read.
      Tensor result = make_tensor(out.sizes(), out.dtype());
      addmm(self, mat1, mat2, beta, alpha, result);
      copy(result, false, out);
      return;
    }
    if (scale != T(0) && !in_place) copy(self, false, out);
    if (mat1.sizes()[1] > 0) {
      multiply<T>(factor, mat1, mat2, scale, out);
    } else if (scale == T(0)) {
      fill(Scalar(0), out);
    } else if (scale != T(1)) {
      mul(out, wrapped_number(beta), out);
    }
  });
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  m.impl("mm", OPYARD_FN(mm));
  m.impl("addmm", OPYARD_FN(addmm));
}

}  // namespace opyard::cpu
