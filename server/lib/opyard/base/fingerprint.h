#pragma once

#include "opyard/base/headers_hash.h"

// Two builds with equal fingerprints may hand C++ types to each other: the same public headers, the
// same compiler and major version, the same flags that change layouts.

#define OPYARD_TEXT_(x) #x
#define OPYARD_TEXT(x) OPYARD_TEXT_(x)

#if defined(__clang__)
#define OPYARD_COMPILER "clang-" OPYARD_TEXT(__clang_major__)
#else
#define OPYARD_COMPILER "gcc-" OPYARD_TEXT(__GNUC__)
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OPYARD_SANITIZER "-asan"
#elif __has_feature(thread_sanitizer)
#define OPYARD_SANITIZER "-tsan"
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define OPYARD_SANITIZER "-asan"
#elif defined(__SANITIZE_THREAD__)
#define OPYARD_SANITIZER "-tsan"
#endif
#if !defined(OPYARD_SANITIZER)
#define OPYARD_SANITIZER ""
#endif
#if defined(_GLIBCXX_DEBUG)
#define OPYARD_STDLIB_MODE "-debug"
#else
#define OPYARD_STDLIB_MODE ""
#endif

#define OPYARD_BUILD_FINGERPRINT                            \
  "libopyard.so.0-" OPYARD_HEADERS_HASH "-" OPYARD_COMPILER \
  "-abi" OPYARD_TEXT(_GLIBCXX_USE_CXX11_ABI) OPYARD_SANITIZER OPYARD_STDLIB_MODE
