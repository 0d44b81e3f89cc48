#pragma once

// The same function for host and device code.
#if defined(__CUDACC__)
#define OPYARD_HOST_DEVICE __host__ __device__
#else
#define OPYARD_HOST_DEVICE
#endif

// Before a loop whose iterations do not depend on each other although an output may be one of the
// inputs: lets the compiler vectorise it without asking whether they overlap.
#if defined(__clang__)
#define OPYARD_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define OPYARD_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define OPYARD_INDEPENDENT_ITERATIONS
#endif
