#pragma once

#include <memory>
#include <string>

#include "client/cpp/transport.h"

namespace opyard::client {

// A yard in this process instead of a daemon: same calls, same answers, no network. Loads the CPU
// plugin; a yard without one is an error that names the folder that was searched.
//   plugin_dir: empty for the folder that belongs to the library.
std::unique_ptr<Transport> make_local_transport(const std::string& plugin_dir = {});

}  // namespace opyard::client
