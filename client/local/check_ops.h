#pragma once

#include <iosfwd>
#include <string>

#include "client/cpp/client.h"
#include "client/local/check_result.h"

namespace opyard::client {

// Runs the operator cases of a YAML file on `yard`, with tensors on `device` unless a case says
// otherwise. As check_dispatch_file for everything else.
CheckResult check_ops_file(const std::string& path, Client& yard, const std::string& device,
                           std::ostream& out);

}  // namespace opyard::client
