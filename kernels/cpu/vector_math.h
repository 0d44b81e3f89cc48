#pragma once

#include <cstdint>

namespace opyard::cpu {

// out[i] = f(in[i]) over runs of elements, `in` and `out` the same run or apart. Every element is
// computed by the same vector code, wherever it stands in the run. SLEEF's functions of at most
// 1.0 ulp on x86-64, as wide as the processor allows; elsewhere those of functors/.
void vector_exp(const float* in, float* out, int64_t n);
void vector_exp(const double* in, double* out, int64_t n);
void vector_log(const float* in, float* out, int64_t n);
void vector_log(const double* in, double* out, int64_t n);
void vector_tanh(const float* in, float* out, int64_t n);
void vector_tanh(const double* in, double* out, int64_t n);

}  // namespace opyard::cpu
