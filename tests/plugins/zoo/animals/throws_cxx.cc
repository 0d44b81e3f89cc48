// The plugin "zoo" on the C++ layers, whose kernel g throws: typed kernels of a build with the
// library's fingerprint (opyard_sdk.h), one for any signature of such a build (ZOO_BOXED), or over
// the C interface alone (ZOO_STABLE).
#ifdef ZOO_STABLE
#include "plugins/sdk/opyard_stable.h"
using opyard::stable::Tensor;
#else
#include "opyard/base/check.h"
#include "plugins/sdk/opyard_sdk.h"
using opyard::Tensor;
#endif

#include <stdexcept>
#include <string>

namespace {

struct Own {
  std::string what = "an own thing, long enough to have memory of its own";
};
struct Derived : std::runtime_error {
  Derived() : std::runtime_error("a reason of an own type") {}
};

[[noreturn, maybe_unused]] void throw_own() { throw Own(); }
[[noreturn, maybe_unused]] void throw_std() { throw std::range_error("a standard reason"); }
[[noreturn, maybe_unused]] void throw_int() { throw 7; }
[[noreturn, maybe_unused]] void throw_derived() { throw Derived(); }
[[noreturn, maybe_unused]] void throw_error() {
#ifdef ZOO_STABLE
  opyard::stable::raise(opyard::stable::Code::kOutOfRange, "a reason with a code");
#else
  opyard::raise(opyard::Code::kOutOfRange, "a reason with a code");
#endif
}

#ifndef ZOO_STABLE
struct Subclass : opyard::Error {
  Subclass() : Error(opyard::Code::kOutOfRange, "a reason with a code") {}
  std::string more = "of an own type, which nobody may keep";
};
[[noreturn, maybe_unused]] void throw_subclass() { throw Subclass(); }
#endif

int64_t which(const Tensor&) { return 1; }
int64_t g(int64_t n) {
  if (n == 5) THROWS();
  return n;
}

#ifdef ZOO_BOXED
void boxed_g(const opyard::Kernel&, opyard::Keys, const opyard::IValue* in, uint32_t,
             opyard::IValue* out, uint32_t) {
  out[0] = g(in[0].to_int());
}
#define ZOO_G \
  opyard::BoxedKernel { &boxed_g }
#else
#define ZOO_G OPYARD_FN(g)
#endif

}  // namespace

OPYARD_LIBRARY(zoo, m) {
  m.def("which(Tensor x) -> int", OPYARD_FN(which));
  m.def("g(int n) -> int", ZOO_G);
}

#ifdef ZOO_STABLE
OPYARD_STABLE_PLUGIN("zoo", "1.0.0", .kind = OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS,
                     .claims = "CPU");
#else
OPYARD_PLUGIN("zoo", "1.0.0", .kind = OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS, .claims = "CPU");
#endif
