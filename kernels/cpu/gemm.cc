#include "kernels/cpu/gemm.h"

#include <cblas.h>
#include <dnnl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/cpu/parallel.h"
#include "opyard/base/check.h"

namespace opyard::cpu {
namespace {

constexpr int64_t kOneThread = 1 << 20;  // products below which a second thread costs more

int64_t products(const Matrix& a, const Matrix& b) {
  const double all =
      static_cast<double>(a.rows) * static_cast<double>(a.columns) * static_cast<double>(b.columns);
  return all > 1e18 ? int64_t{1} << 60 : static_cast<int64_t>(all);
}

int wanted_threads(const Matrix& a, const Matrix& b) {
  const int64_t most = shape::compute_threads();
  return static_cast<int>(std::clamp<int64_t>(products(a, b) / kOneThread, 1, most));
}

// Rows begin … begin+count-1.
Matrix rows_of(const Matrix& m, int64_t begin, int64_t count, size_t element) {
  const int64_t skip = begin * (m.transposed ? 1 : m.ld);
  Matrix part = m;
  part.data = static_cast<const char*>(m.data) + skip * static_cast<int64_t>(element);
  part.rows = count;
  return part;
}

void sgemm(float alpha, const Matrix& a, const Matrix& b, float beta, float* out, int64_t ld) {
  const shape::ComputeAdmission admission(wanted_threads(a, b));
  const LibraryThreads threads(admission.threads());
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', a.rows, b.columns, a.columns,
                 alpha, static_cast<const float*>(a.data), a.ld, static_cast<const float*>(b.data),
                 b.ld, beta, out, ld);
  OPYARD_CHECK(status != dnnl_out_of_memory, kResourceExhausted,
               "oneDNN found no memory for a matrix product");
  OPYARD_CHECK(status == dnnl_success, kInternal, "oneDNN refused a matrix product of ", a.rows,
               " x ", a.columns, " by ", b.rows, " x ", b.columns, ": status ",
               static_cast<int>(status));
}

// On the calling thread only: OpenBLAS's own threads would pass by the gate.
void dgemm(double alpha, const Matrix& a, const Matrix& b, double beta, double* out, int64_t ld) {
  const auto blas = [](int64_t value) { return static_cast<blasint>(value); };
  cblas_dgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, blas(a.rows), blas(b.columns),
              blas(a.columns), alpha, static_cast<const double*>(a.data), blas(a.ld),
              static_cast<const double*>(b.data), blas(b.ld), beta, out, blas(ld));
}

bool fits_blas(const Matrix& m) {
  constexpr int64_t kMost = std::numeric_limits<blasint>::max();
  return m.rows <= kMost && m.columns <= kMost && m.ld <= kMost;
}

// A block of rows of the product, by our own loop: for each row of `a`, rows of `b` are added up,
// so that all inner loops run along memory. `b` is not transposed.
template <typename T>
void loop_rows(T alpha, const Matrix& a, const Matrix& b, T beta, T* out, int64_t ld, int64_t begin,
               int64_t end) {
  using W = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::type_identity<T>>::type;
  const auto* left = static_cast<const T*>(a.data);
  const auto* right = static_cast<const T*>(b.data);
  const int64_t row_step = a.transposed ? 1 : a.ld;
  const int64_t column_step = a.transposed ? a.ld : 1;
  std::vector<W> sums(static_cast<size_t>(b.columns));
  for (int64_t i = begin; i < end; ++i) {
    std::fill(sums.begin(), sums.end(), W(0));
    for (int64_t k = 0; k < a.columns; ++k) {
      const W factor = static_cast<W>(left[i * row_step + k * column_step]);
      const T* row = right + k * b.ld;
      for (int64_t j = 0; j < b.columns; ++j) {
        sums[static_cast<size_t>(j)] =
            static_cast<W>(sums[static_cast<size_t>(j)] + factor * static_cast<W>(row[j]));
      }
    }
    T* to = out + i * ld;
    for (int64_t j = 0; j < b.columns; ++j) {
      const W product = static_cast<W>(static_cast<W>(alpha) * sums[static_cast<size_t>(j)]);
      const W before =
          beta == T(0) ? W(0) : static_cast<W>(static_cast<W>(beta) * static_cast<W>(to[j]));
      to[j] = static_cast<T>(static_cast<W>(product + before));
    }
  }
}

template <typename T>
void loop_gemm(T alpha, const Matrix& a, const Matrix& b, T beta, T* out, int64_t ld) {
  std::vector<T> turned;
  Matrix right = b;
  if (b.transposed) {
    turned.resize(static_cast<size_t>(b.rows) * static_cast<size_t>(b.columns));
    const auto* from = static_cast<const T*>(b.data);
    for (int64_t j = 0; j < b.columns; ++j) {
      for (int64_t k = 0; k < b.rows; ++k) {
        turned[static_cast<size_t>(k * b.columns + j)] = from[j * b.ld + k];
      }
    }
    right = {turned.data(), b.rows, b.columns, false, b.columns};
  }
  const int64_t grain = std::max<int64_t>(1, kOneThread / 8 / (a.columns * b.columns + 1));
  parallel_for(a.rows, grain, [&](int64_t begin, int64_t end) {
    loop_rows(alpha, a, right, beta, out, ld, begin, end);
  });
}

// [1 2; 3 4; 5 6] times the transpose of [7 8; 9 10], over an output full of nan.
bool small_product_is_right() {
  const double left[] = {1, 2, 3, 4, 5, 6};
  const double right[] = {7, 8, 9, 10};
  const double wanted[] = {23, 29, 53, 67, 83, 105};
  double out[6];
  std::fill_n(out, 6, std::nan(""));
  dgemm(1, {left, 3, 2, false, 2}, {right, 2, 2, true, 2}, 0, out, 2);
  return std::equal(out, out + 6, wanted);
}

}  // namespace

bool openblas_is_sound() {
  static const bool sound = [] {
    // Only its OpenMP build shares our pool. Another build is kept on the calling thread.
    if (openblas_get_parallel() != OPENBLAS_OPENMP) openblas_set_num_threads(1);
    const LibraryThreads threads(1);
    return small_product_is_right();
  }();
  return sound;
}

const char* openblas_description() { return openblas_get_config(); }

template <typename T>
void gemm(T alpha, const Matrix& a, const Matrix& b, T beta, T* out, int64_t ld) {
  if constexpr (std::is_same_v<T, float>) {
    sgemm(alpha, a, b, beta, out, ld);
  } else if constexpr (std::is_same_v<T, double>) {
    if (!openblas_is_sound() || !fits_blas(a) || !fits_blas(b)) {
      loop_gemm(alpha, a, b, beta, out, ld);
      return;
    }
    const int64_t grain = std::max<int64_t>(8, kOneThread / 2 / (a.columns * b.columns + 1));
    parallel_for(a.rows, grain, [&](int64_t begin, int64_t end) {
      const LibraryThreads threads(1);
      dgemm(alpha, rows_of(a, begin, end - begin, sizeof(T)), b, beta, out + begin * ld, ld);
    });
  } else {
    loop_gemm(alpha, a, b, beta, out, ld);
  }
}

template void gemm(float, const Matrix&, const Matrix&, float, float*, int64_t);
template void gemm(double, const Matrix&, const Matrix&, double, double*, int64_t);
template void gemm(int64_t, const Matrix&, const Matrix&, int64_t, int64_t*, int64_t);
template void gemm(int32_t, const Matrix&, const Matrix&, int32_t, int32_t*, int64_t);
template void gemm(uint8_t, const Matrix&, const Matrix&, uint8_t, uint8_t*, int64_t);

}  // namespace opyard::cpu
