#pragma once

#include "opyard/plugin/host.h"

namespace opyard::worker {

// The host of this process, with everything there that it makes for itself in the course of time,
// so that what comes afterwards is a plugin's. Replaced generations end at once.
plugin::Host& get_ready();
plugin::ChangeOptions unprobed();
// The slot's newest generation.
plugin::GenerationInfo newest(const std::string& slot);

}  // namespace opyard::worker
