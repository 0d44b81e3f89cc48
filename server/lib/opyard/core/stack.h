#pragma once

#include <vector>

#include "opyard/core/ivalue.h"

namespace opyard {

// Where a caller of call_boxed keeps arguments, left to right, and finds the results in their
// place. Values below the arguments are not touched. Kernels never see a stack.
using Stack = std::vector<IValue>;

// Drops the last n values.
void drop(Stack& stack, size_t n);

}  // namespace opyard
