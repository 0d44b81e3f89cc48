// As a compiler that tells of its sanitizers through __has_feature sees the fingerprint.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wbuiltin-macro-redefined"
#endif
#undef __has_feature
#define __has_feature(name) feature_##name
#define feature_address_sanitizer 0
#define feature_thread_sanitizer 1
#include "fingerprints.h"
#include "opyard/base/fingerprint.h"

const char* fingerprint_with_has_feature() { return OPYARD_BUILD_FINGERPRINT; }
