// As a build with the checked containers of libstdc++ sees the fingerprint.
#if !defined(_GLIBCXX_DEBUG)
#define _GLIBCXX_DEBUG 1
#endif
#include "fingerprints.h"
#include "opyard/base/fingerprint.h"

const char* fingerprint_with_checked_containers() { return OPYARD_BUILD_FINGERPRINT; }
