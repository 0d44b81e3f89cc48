#include "kernels/cpu/isa.h"

#include <cstdlib>
#include <string_view>

namespace opyard::cpu {
namespace {

Isa choose() {
#if defined(OPYARD_HAS_AVX2)
  const char* asked = std::getenv("OPYARD_CPU_ISA");
  if (asked && std::string_view(asked) == "plain") return Isa::kPlain;
  // All that -march=x86-64-v3 lets the compiler use.
  const bool able = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("popcnt");
  if (able) return Isa::kAvx2;
#endif
  return Isa::kPlain;
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

}  // namespace opyard::cpu
