#pragma once

#include <iosfwd>
#include <string>

#include "client/local/check_result.h"

namespace opyard::client {

// Runs the dispatcher scenarios of a YAML file, each in a dispatcher of its own; a line per failing
// case and per note goes to `out`. The format is described in client/local/README.md. Raises
// NOT_FOUND for a file that cannot be opened and INVALID_ARGUMENT for one that is no list of cases;
// a case that cannot be read counts as failed.
CheckResult check_dispatch_file(const std::string& path, std::ostream& out);

}  // namespace opyard::client
