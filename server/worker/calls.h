#pragma once

#include <functional>
#include <string>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/describe.h"
#include "samples.h"

namespace opyard::worker {

// A kernel of a plugin, ready to be called.
struct Callee {
  std::string name;  // "aten::add.Tensor at CPU"
  OperatorHandle op;
  DispatchKey key;
  Device device;  // of its tensors
};
// Those of the description that can be called: fallbacks, and kernels without a function or a
// schema, are left out.
std::vector<Callee> callees(const plugin::Description& description);
// Operators that it has kernels for and nobody defines: "mine::f (the nearest name is mine::g)".
std::vector<std::string> undefined_operators(const plugin::Description& description);

// How a kernel took a call. `problem` is what speaks against it.
struct Answer {
  bool refused = false;
  bool escaped = false;  // an exception came out of it that no host function turns into an error
  std::string raised;    // "raised INTERNAL: … in mine::f at CPU": not an error of its caller's
  std::string problem;
};
// Calls the kernel itself, past the others that stand above it. What it crashes or hangs at has
// been reported as a step before.
Answer call(const Callee& callee, Filling filling);

}  // namespace opyard::worker
