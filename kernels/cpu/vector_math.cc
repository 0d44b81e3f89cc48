#include "kernels/cpu/vector_math.h"

#if defined(__x86_64__)

#include <immintrin.h>

// SLEEF declares its AVX2 functions only to files that are compiled for AVX2 as a whole; this one
// asks the processor at run time.
extern "C" {
__m128 Sleef_expf4_u10(__m128);
__m128d Sleef_expd2_u10(__m128d);
__m128 Sleef_logf4_u10(__m128);
__m128d Sleef_logd2_u10(__m128d);
__m128 Sleef_tanhf4_u10(__m128);
__m128d Sleef_tanhd2_u10(__m128d);
__attribute__((target("avx2"))) __m256 Sleef_expf8_u10avx2(__m256);
__attribute__((target("avx2"))) __m256d Sleef_expd4_u10avx2(__m256d);
__attribute__((target("avx2"))) __m256 Sleef_logf8_u10avx2(__m256);
__attribute__((target("avx2"))) __m256d Sleef_logd4_u10avx2(__m256d);
__attribute__((target("avx2"))) __m256 Sleef_tanhf8_u10avx2(__m256);
__attribute__((target("avx2"))) __m256d Sleef_tanhd4_u10avx2(__m256d);
}

namespace opyard::cpu {
namespace {

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

}  // namespace

// The rest of a run, shorter than a vector, is computed in a full one, padded with ones.
#define OPYARD_VECTOR_LOOP(target_options, suffix, T, width, load, store, function) \
  target_options static void suffix(const T* in, T* out, int64_t n) {               \
    int64_t i = 0;                                                                  \
    for (; i + width <= n; i += width) store(out + i, function(load(in + i)));      \
    if (i == n) return;                                                             \
    T rest[width];                                                                  \
    for (int64_t k = 0; k < width; ++k) rest[k] = i + k < n ? in[i + k] : T(1);     \
    store(rest, function(load(rest)));                                              \
    for (int64_t k = 0; i + k < n; ++k) out[i + k] = rest[k];                       \
  }

#define OPYARD_AVX2 __attribute__((target("avx2,fma")))
#define OPYARD_VECTOR_FUNCTION(name)                                                            \
  OPYARD_VECTOR_LOOP(, name##_f4, float, 4, _mm_loadu_ps, _mm_storeu_ps, Sleef_##name##f4_u10)  \
  OPYARD_VECTOR_LOOP(, name##_d2, double, 2, _mm_loadu_pd, _mm_storeu_pd, Sleef_##name##d2_u10) \
  OPYARD_VECTOR_LOOP(OPYARD_AVX2, name##_f8, float, 8, _mm256_loadu_ps, _mm256_storeu_ps,       \
                     Sleef_##name##f8_u10avx2)                                                  \
  OPYARD_VECTOR_LOOP(OPYARD_AVX2, name##_d4, double, 4, _mm256_loadu_pd, _mm256_storeu_pd,      \
                     Sleef_##name##d4_u10avx2)                                                  \
  void vector_##name(const float* in, float* out, int64_t n) {                                  \
    has_avx2() ? name##_f8(in, out, n) : name##_f4(in, out, n);                                 \
  }                                                                                             \
  void vector_##name(const double* in, double* out, int64_t n) {                                \
    has_avx2() ? name##_d4(in, out, n) : name##_d2(in, out, n);                                 \
  }

OPYARD_VECTOR_FUNCTION(exp)
OPYARD_VECTOR_FUNCTION(log)
OPYARD_VECTOR_FUNCTION(tanh)

}  // namespace opyard::cpu

#else

#include "kernels/functors/transcendental.h"

namespace opyard::cpu {

#define OPYARD_PLAIN_FUNCTION(name, Functor, T)        \
  void vector_##name(const T* in, T* out, int64_t n) { \
    const functors::Functor<T> f;                      \
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]); \
  }
OPYARD_PLAIN_FUNCTION(exp, Exp, float)
OPYARD_PLAIN_FUNCTION(exp, Exp, double)
OPYARD_PLAIN_FUNCTION(log, Log, float)
OPYARD_PLAIN_FUNCTION(log, Log, double)
OPYARD_PLAIN_FUNCTION(tanh, Tanh, float)
OPYARD_PLAIN_FUNCTION(tanh, Tanh, double)

}  // namespace opyard::cpu

#endif
