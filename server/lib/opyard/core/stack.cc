#include "opyard/core/stack.h"

#include "opyard/base/check.h"

namespace opyard {

void drop(Stack& stack, size_t n) {
  OPYARD_CHECK(n <= stack.size(), kInvalidArgument, "the stack holds ", stack.size(), " values, ",
               n, " are wanted");
  stack.resize(stack.size() - n);
}

}  // namespace opyard
