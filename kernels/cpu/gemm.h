#pragma once

#include <cstdint>

namespace opyard::cpu {

// A matrix in memory as matrix products take it: row-major with `ld` elements from row to row, or
// the transpose of such a one.
struct Matrix {
  const void* data;
  int64_t rows;
  int64_t columns;
  bool transposed;
  int64_t ld;
};

// out = alpha * a b + beta * out, where out is row-major with rows ld apart; with beta 0 what stood
// in out is not read. a.columns == b.rows > 0, out is a.rows by b.columns and not empty. It
// overlaps neither of the others. float32 is oneDNN's, float64 OpenBLAS's, integers (they wrap) a
// blocked loop of ours.
template <typename T>
void gemm(T alpha, const Matrix& a, const Matrix& b, T beta, T* out, int64_t ld);

extern template void gemm(float, const Matrix&, const Matrix&, float, float*, int64_t);
extern template void gemm(double, const Matrix&, const Matrix&, double, double*, int64_t);
extern template void gemm(int64_t, const Matrix&, const Matrix&, int64_t, int64_t*, int64_t);
extern template void gemm(int32_t, const Matrix&, const Matrix&, int32_t, int32_t*, int64_t);
extern template void gemm(uint8_t, const Matrix&, const Matrix&, uint8_t, uint8_t*, int64_t);

// Prepares OpenBLAS and tries a small product whose result is known. False when the library that
// was loaded cannot be used: float64 products then go through our own loop, which is slower. The
// first call decides. Any thread.
bool openblas_is_sound();

// What was loaded: the configuration text of OpenBLAS with its kind of threads, and whether the
// check passed; for logs.
const char* openblas_description();

}  // namespace opyard::cpu
