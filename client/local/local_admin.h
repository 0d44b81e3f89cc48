#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/cpp/admin.h"

namespace opyard::client {

// The plugins of this process, with a yard of its own. Arguments as of make_local_transport.
std::unique_ptr<Admin> make_local_admin(const std::vector<std::string>& plugin_dirs,
                                        const std::vector<std::string>& plugins);

}  // namespace opyard::client
