#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "opyard/plugin/probe.h"

namespace opyard::worker {

// Loads the plugin, ends it, and looks whether it is gone. `step` is told what begins. What the
// plugin refuses or fails at is the verdict's problem. Once for a process: what a file leaves
// behind would be the next one's.
plugin::Verdict live(const std::string& path, const std::function<void(std::string_view)>& step);

}  // namespace opyard::worker
