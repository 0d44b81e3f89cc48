#include "opyard/core/generator.h"
#include "opyard/dispatch/dispatcher.h"

// Operators that act on the session instead of on tensors.

namespace opyard {
namespace {

void manual_seed(int64_t seed) { current_generator().manual_seed(static_cast<uint64_t>(seed)); }

}  // namespace

OPYARD_LIBRARY(opyard, m) { m.def("manual_seed(int seed) -> ()", Fn<&manual_seed>()); }

}  // namespace opyard
