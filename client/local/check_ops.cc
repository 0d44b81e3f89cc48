#include "client/local/check_ops.h"

#include "opyard/base/check.h"

namespace opyard::client {

CheckResult check_ops_file(const std::string&, Client&, const std::string&, std::ostream&) {
  raise(Code::kUnimplemented, "soon");
}

}  // namespace opyard::client
