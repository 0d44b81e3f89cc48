#pragma once

#include <functional>
#include <string_view>
#include <thread>

namespace opyard::plugin {

// A thread of the host's own: signals are for the threads of whoever embeds us, so it takes none.
// RESOURCE_EXHAUSTED when there is none to be had.
std::thread start_quiet_thread(std::string_view name, std::function<void()> body);

}  // namespace opyard::plugin
