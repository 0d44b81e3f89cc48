#pragma once

#include "opyard/dispatch/dispatcher.h"

// What the operator generator (kernels/codegen) hands to the library.

namespace opyard {

// One structured operator: its internal operator and the public forms around it.
struct StructuredGroup {
  const char* internal_op;
  const StructuredForm* forms;
  size_t num_forms;
};

struct GeneratedOperators {
  const OpHandleBase* const* handles;
  size_t num_handles;
  const StructuredGroup* groups;
  size_t num_groups;
};

// Defined by generated code.
const GeneratedOperators& generated_operators();

}  // namespace opyard
