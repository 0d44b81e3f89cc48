#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/cpp/transport.h"

namespace opyard::client {

// A yard in this process instead of a daemon: same calls, same answers, no network. A plugin that
// is not there is an error that names the folders that were searched.
//   plugin_dirs: searched in this order; empty for the folder that belongs to the library.
//   plugins: names, loaded in this order.
std::unique_ptr<Transport> make_local_transport(const std::vector<std::string>& plugin_dirs = {},
                                                const std::vector<std::string>& plugins = {"cpu"});

}  // namespace opyard::client
