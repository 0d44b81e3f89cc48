// Animals of the C interface out of which an exception comes: THROWS, at WHERE.
#include <stdexcept>
#include <string>

#include "skeleton.h"

namespace {

struct Own {
  std::string what = "an own thing, long enough to have memory of its own";
};

[[noreturn, maybe_unused]] void throw_own() { throw Own(); }
[[noreturn, maybe_unused]] void throw_std() { throw std::range_error("a standard reason"); }
[[noreturn, maybe_unused]] void throw_int() { throw 7; }
[[noreturn, maybe_unused]] void throw_derived() {
  struct Derived : std::runtime_error {
    Derived() : std::runtime_error("a reason of an own type") {}
  };
  throw Derived();
}

}  // namespace

#pragma GCC visibility push(hidden)
extern "C" {
#if defined(WHERE_init)
int32_t on_init(opyard_status*) { THROWS(); }
#elif defined(WHERE_quiesce)
int32_t on_quiesce() { THROWS(); }
#elif defined(WHERE_g)
int32_t on_g(opyard_call*, const opyard_value*, opyard_value*) { THROWS(); }
#endif
}
#pragma GCC visibility pop
