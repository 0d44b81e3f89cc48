#pragma once

namespace opyard::daemon {

#ifndef OPYARD_VERSION
#define OPYARD_VERSION "0.1.0"
#endif

inline constexpr const char* kServerName = "opyardd " OPYARD_VERSION;

}  // namespace opyard::daemon
