#pragma once

#include <cstdint>

#include "kernels/cpu/parallel.h"
#include "kernels/functors/macros.h"
#include "kernels/shape/tensor_iterator.h"

// Inner loops over runs of elements, with forms that the compiler can vectorise for contiguous
// operands and for a number that meets a run. Everything is in an unnamed namespace: each file that
// includes it is compiled for its own instruction set.
namespace opyard::cpu {

using shape::TensorIterator;

namespace {

// Elements per piece of parallel work, for cheap and for costly functions.
constexpr int64_t kCheapGrain = 32768;
constexpr int64_t kCostlyGrain = 4096;

template <typename T>
T& at(char* base, int64_t offset) {
  return *reinterpret_cast<T*>(base + offset);
}

template <typename R, typename T, typename F>
void unary_run(char* const* data, const int64_t* strides, int64_t n, const F f) {
  constexpr auto kR = static_cast<int64_t>(sizeof(R));
  constexpr auto kT = static_cast<int64_t>(sizeof(T));
  if (strides[0] == kR && strides[1] == kT) {
    auto* out = reinterpret_cast<R*>(data[0]);
    const auto* a = reinterpret_cast<const T*>(data[1]);
    OPYARD_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    at<R>(data[0], i * strides[0]) = f(at<T>(data[1], i * strides[1]));
  }
}

template <typename R, typename T, typename F>
void binary_run(char* const* data, const int64_t* strides, int64_t n, const F f) {
  constexpr auto kR = static_cast<int64_t>(sizeof(R));
  constexpr auto kT = static_cast<int64_t>(sizeof(T));
  auto* out = reinterpret_cast<R*>(data[0]);
  const auto* a = reinterpret_cast<const T*>(data[1]);
  const auto* b = reinterpret_cast<const T*>(data[2]);
  if (strides[0] == kR && strides[1] == kT && strides[2] == kT) {
    OPYARD_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (strides[0] == kR && strides[1] == kT && strides[2] == 0) {
    const T number = *b;
    OPYARD_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], number);
  } else if (strides[0] == kR && strides[1] == 0 && strides[2] == kT) {
    const T number = *a;
    OPYARD_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) out[i] = f(number, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      at<R>(data[0], i * strides[0]) =
          f(at<T>(data[1], i * strides[1]), at<T>(data[2], i * strides[2]));
    }
  }
}

template <typename F>
void run(const TensorIterator& it, int64_t grain, const F& loop) {
  if (it.numel() < 2 * grain) {
    it.for_each(0, it.numel(), loop);
    return;
  }
  parallel_for(it.numel(), grain,
               [&](int64_t begin, int64_t end) { it.for_each(begin, end, loop); });
}

// out[i] = f(a[i]); the input is read as T, results are stored as R and converted if need be.
template <typename R, typename T, typename F>
void unary(TensorIterator& it, ScalarType in, ScalarType result, int64_t grain, const F f) {
  it.present_as(1, in);
  it.present_as(0, result);
  run(it, grain, [f](char* const* data, const int64_t* strides, int64_t n) {
    unary_run<R, T>(data, strides, n, f);
  });
}

template <typename R, typename T, typename F>
void binary(TensorIterator& it, ScalarType in, ScalarType result, int64_t grain, const F f) {
  it.present_as(1, in);
  it.present_as(2, in);
  it.present_as(0, result);
  run(it, grain, [f](char* const* data, const int64_t* strides, int64_t n) {
    binary_run<R, T>(data, strides, n, f);
  });
}

}  // namespace
}  // namespace opyard::cpu
